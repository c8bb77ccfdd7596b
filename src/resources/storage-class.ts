import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { missing } from './type-rules.ts'
import { fixed, notUpdated } from './update-rules.ts'
import { checkStorageClass } from './validation/storage-rules.ts'

export const storageClassSchema = z.looseObject({
  apiVersion: z.literal('storage.k8s.io/v1'),
  kind: z.literal('StorageClass'),
  metadata: objectMetaSchema,
  provisioner: z.string(),
  parameters: z.record(z.string(), z.string()).optional(),
  reclaimPolicy: z.string().optional(),
  volumeBindingMode: z.string().optional(),
  allowVolumeExpansion: z.boolean().optional(),
})

export type StorageClass = z.infer<typeof storageClassSchema>

const defaultAnnotations = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]

export function isDefaultClass({ metadata }: StorageClass): boolean {
  return defaultAnnotations.some((key) => metadata.annotations?.[key] === 'true')
}

export const storageClassKind = coreKind(storageClassSchema, {
  group: 'storage.k8s.io',
  kind: 'StorageClass',
  plural: 'storageclasses',
  shortNames: ['sc'],
  namespaced: false,
  validate: checkStorageClass,
  immutable: [
    notUpdated('provisioner'),
    notUpdated('parameters'),
    notUpdated('reclaimPolicy'),
    fixed('volumeBindingMode'),
  ],
  types: {
    'io.k8s.api.storage.v1.StorageClass': {
      complete: missing({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
    },
  },
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      cell: (object) => object.metadata.name + (isDefaultClass(object) ? ' (default)' : ''),
    },
    { name: 'Provisioner', type: 'string', cell: ({ provisioner }) => provisioner },
    { name: 'ReclaimPolicy', type: 'string', cell: ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete' },
    { name: 'VolumeBindingMode', type: 'string', cell: ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate' },
    {
      name: 'AllowVolumeExpansion',
      type: 'string',
      cell: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    },
    coreAgeColumn,
  ],
})
