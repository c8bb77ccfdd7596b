import { z } from 'zod'
import { ageColumn } from './age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const persistentVolumeClaimSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('PersistentVolumeClaim'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    accessModes: z.array(z.string()).optional(),
    volumeName: z.string().optional(),
    storageClassName: z.string().optional(),
    resources: z.looseObject({ requests: z.record(z.string(), z.string()).optional() }).optional(),
  }),
  status: z
    .looseObject({ phase: z.string().optional(), capacity: z.record(z.string(), z.string()).optional() })
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
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Volume', type: 'string', jsonPath: '.spec.volumeName' },
    { name: 'Capacity', type: 'string', jsonPath: '.status.capacity.storage' },
    { name: 'Access Modes', type: 'string', cell: ({ spec }) => (spec.accessModes ?? []).join(',') },
    { name: 'StorageClass', type: 'string', jsonPath: '.spec.storageClassName' },
    ageColumn,
  ],
})
