import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { accessModesText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import { objectReferenceSchema } from './event.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { hostPathTypes } from './pod-types.ts'
import { core, missing } from './type-rules.ts'
import { fixed, fixedSpecExcept } from './update-rules.ts'
import { checkVolume, volumeFieldsBesideSource } from './validation/storage-rules.ts'

export const persistentVolumeSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('PersistentVolume'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    capacity: z.record(z.string(), z.string()).optional(),
    accessModes: z.array(z.string()).optional(),
    persistentVolumeReclaimPolicy: z.string().optional(),
    storageClassName: z.string().optional(),
    volumeAttributesClassName: z.string().optional(),
    volumeMode: z.string().optional(),
    claimRef: objectReferenceSchema.optional(),
  }),
  status: z.looseObject({ phase: z.string().optional(), reason: z.string().optional() }).optional(),
})

export type PersistentVolume = z.infer<typeof persistentVolumeSchema>

export const persistentVolumeKind = coreKind(persistentVolumeSchema, {
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  shortNames: ['pv'],
  namespaced: false,
  hasStatus: true,
  validate: checkVolume,
  immutable: [
    fixedSpecExcept(
      volumeFieldsBesideSource,
      'spec.persistentvolumesource is immutable after creation',
      'spec.persistentvolumesource',
    ),
    fixed('spec.volumeMode', 'field is immutable', 'volumeMode'),
  ],
  types: {
    ...hostPathTypes,
    [`${core}PersistentVolume`]: { parts: ['spec'] },
    [`${core}PersistentVolumeSpec`]: {
      complete: missing({ volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain' }),
    },
  },
  initialStatus: () => ({ phase: 'Pending' }),
  columns: [
    { name: 'Capacity', type: 'string', cell: ({ spec }) => spec.capacity?.['storage'] ?? '0' },
    { name: 'Access Modes', type: 'string', cell: ({ spec }) => accessModesText(spec.accessModes) },
    { name: 'Reclaim Policy', type: 'string', cell: ({ spec }) => spec.persistentVolumeReclaimPolicy ?? '' },
    {
      name: 'Status',
      type: 'string',
      cell: ({ metadata, status }) => (metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
    },
    {
      name: 'Claim',
      type: 'string',
      cell: ({ spec }) => (spec.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : ''),
    },
    { name: 'StorageClass', type: 'string', cell: ({ spec }) => spec.storageClassName ?? '' },
    { name: 'VolumeAttributesClass', type: 'string', cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>' },
    { name: 'Reason', type: 'string', cell: ({ status }) => status?.reason ?? '' },
    coreAgeColumn,
    { name: 'VolumeMode', type: 'string', priority: 1, cell: ({ spec }) => spec.volumeMode ?? '<unset>' },
  ],
})
