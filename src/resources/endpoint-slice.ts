import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { firstThree } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import { objectReferenceSchema } from './event.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { missing } from './type-rules.ts'
import { fixed } from './update-rules.ts'
import { checkEndpointSlice } from './validation/cluster-rules.ts'

export const endpointSliceSchema = z.looseObject({
  apiVersion: z.literal('discovery.k8s.io/v1'),
  kind: z.literal('EndpointSlice'),
  metadata: objectMetaSchema,
  addressType: z.enum(['IPv4', 'IPv6', 'FQDN']),
  endpoints: z.array(
    z.looseObject({
      addresses: z.array(z.string()),
      conditions: z
        .looseObject({
          ready: z.boolean().optional(),
          serving: z.boolean().optional(),
          terminating: z.boolean().optional(),
        })
        .optional(),
      hostname: z.string().optional(),
      nodeName: z.string().optional(),
      targetRef: objectReferenceSchema.optional(),
    }),
  ),
  ports: z
    .array(
      z.looseObject({ name: z.string().optional(), port: z.int().optional(), protocol: z.string().default('TCP') }),
    )
    .optional(),
})

export type EndpointSlice = z.infer<typeof endpointSliceSchema>

/** The label that names the Service of a slice. */
export const serviceNameLabel = 'kubernetes.io/service-name'

export const endpointSliceKind = coreKind(endpointSliceSchema, {
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  hasGeneration: true,
  validate: checkEndpointSlice,
  immutable: [fixed('addressType')],
  types: { 'io.k8s.api.discovery.v1.EndpointPort': { complete: missing({ name: '', protocol: 'TCP' }) } },
  columns: [
    { name: 'AddressType', type: 'string', jsonPath: '.addressType' },
    {
      name: 'Ports',
      type: 'string',
      cell: ({ ports }) => firstThree((ports ?? []).map(({ port, name }) => String(port ?? name ?? '*'))),
    },
    {
      name: 'Endpoints',
      type: 'string',
      cell: ({ endpoints }) => firstThree((endpoints ?? []).flatMap(({ addresses }) => addresses)),
    },
    coreAgeColumn,
  ],
})
