import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { selectorText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { containersColumn, imagesColumn, labelSelectorSchema, podTemplateSchema } from './pod-template.ts'
import { podTypes } from './pod-types.ts'
import { apps, missing } from './type-rules.ts'
import { fixed } from './update-rules.ts'
import { checkReplicaSet } from './validation/workload-rules.ts'

const count = z.int().optional()

export const replicaSetSchema = z.looseObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('ReplicaSet'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    replicas: count,
    minReadySeconds: count,
    selector: labelSelectorSchema,
    template: podTemplateSchema,
  }),
  status: z
    .looseObject({
      observedGeneration: count,
      replicas: count,
      fullyLabeledReplicas: count,
      readyReplicas: count,
      availableReplicas: count,
      conditions: z.array(conditionSchema.loose()).optional(),
    })
    .optional(),
})

export type ReplicaSet = z.infer<typeof replicaSetSchema>

export const replicaSetKind = coreKind(replicaSetSchema, {
  group: 'apps',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  shortNames: ['rs'],
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  validate: checkReplicaSet,
  immutable: [fixed('spec.selector')],
  selectableFields: [{ field: 'status.replicas', whenMissing: '0' }],
  types: {
    ...podTypes,
    [`${apps}ReplicaSet`]: { parts: ['spec'] },
    [`${apps}ReplicaSetSpec`]: { parts: ['template'], complete: missing({ replicas: 1 }) },
  },
  initialStatus: () => ({ replicas: 0 }),
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.spec.selector',
  },
  columns: [
    { name: 'Desired', type: 'integer', cell: ({ spec }) => spec.replicas ?? 0 },
    { name: 'Current', type: 'integer', cell: ({ status }) => status?.replicas ?? 0 },
    { name: 'Ready', type: 'integer', cell: ({ status }) => status?.readyReplicas ?? 0 },
    coreAgeColumn,
    containersColumn,
    imagesColumn,
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => selectorText(spec.selector) || '<none>' },
  ],
})
