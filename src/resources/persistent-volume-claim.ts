import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { accessModesText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
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

/** The claim of user data: a fixed claim of the cluster. */
export const userDataClaim = 'userdata'

export const persistentVolumeClaimKind = coreKind(persistentVolumeClaimSchema, {
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  shortNames: ['pvc'],
  hasStatus: true,
  validate: checkClaim,
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
