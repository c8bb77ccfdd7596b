import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { checkLease } from './validation/cluster-rules.ts'

export const leaseSchema = z.looseObject({
  apiVersion: z.literal('coordination.k8s.io/v1'),
  kind: z.literal('Lease'),
  metadata: objectMetaSchema,
  spec: z
    .looseObject({
      holderIdentity: z.string().optional(),
      leaseDurationSeconds: z.int().optional(),
      acquireTime: z.string().optional(),
      renewTime: z.string().optional(),
      leaseTransitions: z.int().optional(),
    })
    .optional(),
})

/** Who leads, and until when: the holder renews it, others take it over when it has expired. */
export type Lease = z.infer<typeof leaseSchema>

export const leaseKind = coreKind(leaseSchema, {
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
  validate: checkLease,
  types: { 'io.k8s.api.coordination.v1.Lease': { parts: ['spec'] } },
  columns: [{ name: 'Holder', type: 'string', cell: ({ spec }) => spec?.holderIdentity ?? '' }, coreAgeColumn],
})
