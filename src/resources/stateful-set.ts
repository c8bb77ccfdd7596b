import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { containersColumn, imagesColumn, labelSelectorSchema, podTemplateSchema } from './pod-template.ts'
import { checkStatefulSet } from './validation/workload-rules.ts'

const count = z.int().optional()

export const statefulSetSchema = z.looseObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('StatefulSet'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    replicas: count,
    serviceName: z.string().optional(),
    podManagementPolicy: z.string().optional(),
    updateStrategy: z
      .looseObject({
        type: z.string().optional(),
        rollingUpdate: z
          .looseObject({ partition: z.int(), maxUnavailable: z.union([z.int(), z.string()]) })
          .partial()
          .optional(),
      })
      .optional(),
    minReadySeconds: count,
    revisionHistoryLimit: count,
    ordinals: z.looseObject({ start: count }).optional(),
    persistentVolumeClaimRetentionPolicy: z
      .looseObject({ whenDeleted: z.string().optional(), whenScaled: z.string().optional() })
      .optional(),
    selector: labelSelectorSchema,
    template: podTemplateSchema,
    volumeClaimTemplates: z.array(z.looseObject({ metadata: objectMetaSchema.partial().optional() })).optional(),
  }),
  status: z
    .looseObject({
      observedGeneration: count,
      replicas: count,
      readyReplicas: count,
      currentReplicas: count,
      updatedReplicas: count,
      availableReplicas: count,
      collisionCount: count,
      currentRevision: z.string().optional(),
      updateRevision: z.string().optional(),
      conditions: z.array(conditionSchema.loose()).optional(),
    })
    .optional(),
})

export type StatefulSet = z.infer<typeof statefulSetSchema>

export const statefulSetKind = coreKind(statefulSetSchema, {
  group: 'apps',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  shortNames: ['sts'],
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  validate: checkStatefulSet,
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.spec.selector',
  },
  columns: [
    {
      name: 'Ready',
      type: 'string',
      cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    coreAgeColumn,
    containersColumn,
    imagesColumn,
  ],
})
