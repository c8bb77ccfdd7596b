import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { selectorText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import type { JsonObject } from './json-value.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { containersColumn, imagesColumn, labelSelectorSchema, podTemplateSchema } from './pod-template.ts'
import { podTypes } from './pod-types.ts'
import { apps, missing } from './type-rules.ts'
import { fixed } from './update-rules.ts'
import { checkDeployment } from './validation/workload-rules.ts'

const count = z.int().optional()

export const deploymentSchema = z.looseObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    replicas: count,
    selector: labelSelectorSchema,
    template: podTemplateSchema,
    strategy: z
      .looseObject({
        type: z.string().optional(),
        rollingUpdate: z
          .looseObject({ maxSurge: z.union([z.int(), z.string()]), maxUnavailable: z.union([z.int(), z.string()]) })
          .partial()
          .optional(),
      })
      .optional(),
    paused: z.boolean().optional(),
    minReadySeconds: count,
    revisionHistoryLimit: count,
    progressDeadlineSeconds: count,
  }),
  status: z
    .looseObject({
      observedGeneration: count,
      replicas: count,
      updatedReplicas: count,
      readyReplicas: count,
      availableReplicas: count,
      unavailableReplicas: count,
      collisionCount: count,
      conditions: z.array(conditionSchema.loose()).optional(),
    })
    .optional(),
})

export type Deployment = z.infer<typeof deploymentSchema>

export const deploymentKind = coreKind(deploymentSchema, {
  group: 'apps',
  kind: 'Deployment',
  plural: 'deployments',
  shortNames: ['deploy'],
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  keptByStatus: ['labels'],
  validate: checkDeployment,
  immutable: [fixed('spec.selector')],
  types: {
    ...podTypes,
    [`${apps}Deployment`]: { parts: ['spec'] },
    [`${apps}DeploymentSpec`]: {
      parts: ['template'],
      complete: missing({ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} }),
    },
    [`${apps}DeploymentStrategy`]: { complete: completeStrategy },
    [`${apps}RollingUpdateDeployment`]: { complete: missing({ maxUnavailable: '25%', maxSurge: '25%' }) },
  },
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
    { name: 'Up-to-date', type: 'string', cell: ({ status }) => status?.updatedReplicas ?? 0 },
    { name: 'Available', type: 'string', cell: ({ status }) => status?.availableReplicas ?? 0 },
    coreAgeColumn,
    containersColumn,
    imagesColumn,
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => selectorText(spec.selector) },
  ],
})

function completeStrategy(strategy: JsonObject): JsonObject {
  const typed = missing({ type: 'RollingUpdate' })(strategy)
  return typed['type'] === 'RollingUpdate' ? missing({ rollingUpdate: {} })(typed) : typed
}
