import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { isJsonObject } from './json-value.ts'
import type { Envelope } from './kind-facts.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { mapObjects } from './pod-completion.ts'
import { containersColumn, imagesColumn, labelSelectorSchema, podTemplateSchema } from './pod-template.ts'
import { podTypes } from './pod-types.ts'
import { apps, isUnset, missing } from './type-rules.ts'
import { fixedSpecExcept } from './update-rules.ts'
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

const changeable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]
const fixedWhy =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

export const statefulSetKind = coreKind(statefulSetSchema, {
  group: 'apps',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  shortNames: ['sts'],
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  validate: checkStatefulSet,
  immutable: [fixedSpecExcept(changeable, fixedWhy)],
  types: {
    ...podTypes,
    [`${apps}StatefulSet`]: { parts: ['spec'] },
    [`${apps}StatefulSetSpec`]: {
      parts: ['template'],
      complete: missing({
        replicas: 1,
        revisionHistoryLimit: 10,
        serviceName: '',
        podManagementPolicy: 'OrderedReady',
        updateStrategy: {},
        persistentVolumeClaimRetentionPolicy: {},
      }),
    },
    [`${apps}StatefulSetUpdateStrategy`]: {
      complete: (strategy) =>
        isUnset(strategy['type']) ? { rollingUpdate: {}, ...strategy, type: 'RollingUpdate' } : strategy,
    },
    [`${apps}RollingUpdateStatefulSetStrategy`]: { complete: missing({ partition: 0 }) },
    [`${apps}StatefulSetPersistentVolumeClaimRetentionPolicy`]: {
      complete: missing({ whenDeleted: 'Retain', whenScaled: 'Retain' }),
    },
  },
  complete: completeClaimTemplates,
  initialStatus: () => ({ replicas: 0, availableReplicas: 0 }),
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

function completeClaimTemplates(object: Envelope): Envelope {
  const { spec } = object
  if (!isJsonObject(spec)) return object
  const volumeClaimTemplates = mapObjects(spec['volumeClaimTemplates'], (claim) => ({
    ...claim,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    status: { phase: 'Pending' },
  }))
  return volumeClaimTemplates ? { ...object, spec: { ...spec, volumeClaimTemplates } } : object
}
