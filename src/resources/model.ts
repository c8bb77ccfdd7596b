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
    .default(['TextGeneration'])
    .describe('What the model can do.'),
  owner: z.string().max(253).optional().describe('Who made the model, as `owned_by` in the list of models.'),
  url: z
    .string()
    .max(2048)
    .regex(modelUrlPattern, modelUrlForm)
    .describe('Where its files are: pvc://<claim>/<path>, in a PersistentVolumeClaim of this namespace.'),
  engine: z.enum(engines).describe('The program that serves it: VLLM on cards, LlamaCpp on processors.'),
  imagePullSecrets: z
    .array(z.string().min(1))
    .max(16)
    .default([])
    .describe("Names of Secrets of this namespace with which the engine's image is pulled."),
  resourceProfile: z
    .string()
    .regex(
      resourceProfilePattern,
      'must have the form <gpu-profile>:<card-count>, such as nvidia.com/gpu-l40s:1 or default:1',
    )
    .default('default:1')
    .describe('Which kind of card a replica needs, and how many: <profile>:<count>, such as nvidia.com/gpu-l40s:2.'),
  minReplicas: count(0)
    .default(0)
    .describe('Replicas that run even when nobody asks. With 0 the model sleeps then and costs nothing.'),
  maxReplicas: count(1).default(1).describe('Replicas that run at most.'),
  targetRequests: count(1)
    .default(100)
    .describe('Requests at a time that one replica is to have. There are as many replicas as that takes.'),
  scaleDownDelaySeconds: count(0)
    .default(30)
    .describe('How long fewer replicas must have been enough before there are fewer.'),
  replicas: count(0)
    .optional()
    .describe('What the autoscaler decided. It is written through the scale subresource; do not set it.'),
  args: z.array(z.string().max(4096)).max(64).optional().describe('Further arguments of the serve command.'),
})

const statusSchema = z.object({
  phase: z.enum(modelPhases).optional().describe('Asleep, Waking, Ready, Draining or Failed.'),
  replicas: z.int().optional().describe('Pods that there are.'),
  readyReplicas: z.int().optional().describe('Pods that answer requests.'),
  message: z.string().optional().describe('One sentence for people: why the model is not ready, or what it is doing.'),
  observedGeneration: z.int().optional().describe('The generation of the Model that this status is about.'),
  selector: z.string().optional().describe('Selects its Pods, for the scale subresource.'),
  conditions: z.array(conditionSchema).optional(),
})

export const modelSchema = z
  .object({
    apiVersion: z.literal('sluice.dev/v1'),
    kind: z.literal('Model'),
    metadata: objectMetaSchema,
    spec: specSchema,
    status: statusSchema.optional(),
  })
  .describe('A model that is served under its name. It wakes when somebody asks for it, and sleeps when nobody does.')

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
