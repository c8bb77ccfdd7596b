import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { modelUrlCel, modelUrlForm, modelUrlPattern, resourceProfilePattern } from './model-references.ts'

export const modelPhases = ['Asleep', 'Waking', 'Ready', 'Draining', 'Failed'] as const
export type ModelPhase = (typeof modelPhases)[number]

export const engines = ['VLLM', 'LlamaCpp'] as const
export type EngineName = (typeof engines)[number]

const count = (lowest: number) =>
  z.int().min(lowest, `must be at least ${lowest}`).max(1_000_000, 'must be at most 1000000')

const specSchema = z.object({
  features: z
    .array(z.enum(['TextGeneration']))
    .min(1, 'name at least one feature')
    .default(['TextGeneration']),
  owner: z.string().max(253).optional(),
  url: z.string().max(2048).regex(modelUrlPattern, modelUrlForm),
  engine: z.enum(engines),
  imagePullSecrets: z.array(z.string().min(1)).max(16).default([]),
  resourceProfile: z
    .string()
    .regex(
      resourceProfilePattern,
      'must have the form <gpu-profile>:<card-count>, such as nvidia.com/gpu-l40s:1 or default:1',
    )
    .default('default:1'),
  minReplicas: count(0).default(0),
  maxReplicas: count(1).default(1),
  targetRequests: count(1).default(100),
  scaleDownDelaySeconds: count(0).default(30),
  /** The autoscaler's decision, written through the scale subresource. */
  replicas: count(0).optional(),
  /** Further arguments of the serve command. */
  args: z.array(z.string().max(4096)).max(64).optional(),
})

const statusSchema = z.object({
  phase: z.enum(modelPhases).optional(),
  replicas: z.int().optional(),
  readyReplicas: z.int().optional(),
  /** One sentence for people: why the model is not ready, or what it is doing. */
  message: z.string().optional(),
  observedGeneration: z.int().optional(),
  selector: z.string().optional(),
  conditions: z.array(conditionSchema).optional(),
})

export const modelSchema = z.object({
  apiVersion: z.literal('sluice.dev/v1'),
  kind: z.literal('Model'),
  metadata: objectMetaSchema,
  spec: specSchema,
  status: statusSchema.optional(),
})

export type Model = z.infer<typeof modelSchema> & { [field: string]: unknown }

export const modelKind = customKind<Model>({
  group: 'sluice.dev',
  version: 'v1',
  kind: 'Model',
  plural: 'models',
  singular: 'model',
  shortNames: ['mdl'],
  categories: ['all', 'sluice'],
  namespaced: true,
  schema: modelSchema,
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
    { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas' },
    { name: 'Min', type: 'integer', jsonPath: '.spec.minReplicas', priority: 1 },
    { name: 'Max', type: 'integer', jsonPath: '.spec.maxReplicas', priority: 1 },
    { name: 'Engine', type: 'string', jsonPath: '.spec.engine' },
    { name: 'Profile', type: 'string', jsonPath: '.spec.resourceProfile' },
    { name: 'URL', type: 'string', jsonPath: '.spec.url', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  hasStatus: true,
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  celRules: [
    {
      path: '',
      // The name becomes a label of the Model's Pods, and a label's value may not be longer.
      rule: 'self.metadata.name.size() <= 63',
      message: 'metadata.name must be no more than 63 characters',
    },
    { path: 'spec.url', rule: modelUrlCel, message: modelUrlForm },
    {
      path: 'spec',
      rule: 'self.minReplicas <= self.maxReplicas',
      message: 'minReplicas must not be greater than maxReplicas',
      fieldPath: '.minReplicas',
    },
  ],
})
