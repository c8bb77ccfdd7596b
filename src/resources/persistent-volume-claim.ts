import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { accessModesText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import type { FieldError } from './field-error.ts'
import { valueAtPath } from './json-value.ts'
import { type KubernetesObject, objectMetaSchema } from './kubernetes-object.ts'
import { type TypeRules, core, missing } from './type-rules.ts'
import { fixedSpecExcept, specOf } from './update-rules.ts'
import { checkClaim } from './validation/storage-rules.ts'

export const persistentVolumeClaimSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('PersistentVolumeClaim'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    accessModes: z.array(z.string()).optional(),
    volumeName: z.string().optional(),
    storageClassName: z.string().optional(),
    volumeAttributesClassName: z.string().optional(),
    volumeMode: z.string().optional(),
    resources: z.looseObject({ requests: z.record(z.string(), z.string()).optional() }).optional(),
  }),
  status: z
    .looseObject({
      phase: z.string().optional(),
      accessModes: z.array(z.string()).optional(),
      capacity: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
})

export type PersistentVolumeClaim = z.infer<typeof persistentVolumeClaimSchema>

/** The claim for user data, which every cluster has. */
export const userDataClaim = 'userdata'

/** For claims and templates of claims. */
export const claimTypes: TypeRules = {
  [`${core}PersistentVolumeClaim`]: { parts: ['spec'] },
  [`${core}PersistentVolumeClaimTemplate`]: { parts: ['metadata', 'spec'] },
  [`${core}PersistentVolumeClaimSpec`]: { complete: missing({ volumeMode: 'Filesystem', resources: {} }) },
}

export const persistentVolumeClaimKind = coreKind(persistentVolumeClaimSchema, {
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  shortNames: ['pvc'],
  hasStatus: true,
  validate: checkClaim,
  immutable: [checkClaimUpdate],
  types: claimTypes,
  initialStatus: () => ({ phase: 'Pending' }),
  deletion: { answersWithObject: true },
  columns: [
    {
      name: 'Status',
      type: 'string',
      cell: ({ metadata, status }) => (metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
    },
    { name: 'Volume', type: 'string', cell: ({ spec }) => spec.volumeName ?? '' },
    {
      name: 'Capacity',
      type: 'string',
      cell: ({ spec, status }) => (spec.volumeName ? (status?.capacity?.['storage'] ?? '0') : ''),
    },
    {
      name: 'Access Modes',
      type: 'string',
      cell: ({ spec, status }) => (spec.volumeName ? accessModesText(status?.accessModes) : ''),
    },
    { name: 'StorageClass', type: 'string', cell: ({ spec }) => spec.storageClassName ?? '' },
    { name: 'VolumeAttributesClass', type: 'string', cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>' },
    coreAgeColumn,
    { name: 'VolumeMode', type: 'string', priority: 1, cell: ({ spec }) => spec.volumeMode ?? '<unset>' },
  ],
})

const fixedWhy =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

/** A claim's volume and class can be set once; a bound claim may grow. */
function checkClaimUpdate(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  const before = specOf(previous)
  const mutable = ['volumeAttributesClassName']
  for (const name of ['volumeName', 'storageClassName']) if (before[name] === undefined) mutable.push(name)
  if (valueAtPath(previous, ['status', 'phase']) === 'Bound') mutable.push('resources')
  return fixedSpecExcept(mutable, fixedWhy)(next, previous)
}
