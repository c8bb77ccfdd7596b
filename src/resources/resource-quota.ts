import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { core } from './type-rules.ts'
import { fixed } from './update-rules.ts'
import { checkResourceQuota } from './validation/cluster-rules.ts'

const quantities = z.record(z.string(), z.string())

export const resourceQuotaSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ResourceQuota'),
  metadata: objectMetaSchema,
  spec: z.looseObject({ hard: quantities.optional(), scopes: z.array(z.string()).optional() }).optional(),
  status: z.looseObject({ hard: quantities.optional(), used: quantities.optional() }).optional(),
})

export type ResourceQuota = z.infer<typeof resourceQuotaSchema>

export const resourceQuotaKind = coreKind(resourceQuotaSchema, {
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  shortNames: ['quota'],
  hasStatus: true,
  validate: checkResourceQuota,
  immutable: [fixed('spec.scopes')],
  types: { [`${core}ResourceQuota`]: { parts: ['spec'] } },
  columns: [
    { name: 'Request', type: 'string', cell: (quota) => usage(quota, (name) => !name.startsWith('limits.')) },
    { name: 'Limit', type: 'string', cell: (quota) => usage(quota, (name) => name.startsWith('limits.')) },
    coreAgeColumn,
  ],
})

function usage({ status }: ResourceQuota, shown: (resource: string) => boolean): string {
  return Object.entries(status?.hard ?? {})
    .filter(([resource]) => shown(resource))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([resource, hard]) => `${resource}: ${status?.used?.[resource] ?? '0'}/${hard}`)
    .join(', ')
}
