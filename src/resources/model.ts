import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { conditionsSchema, objectMetaSchema } from './kubernetes-object.ts'
import {
  adapterNamePattern,
  engineNamePattern,
  modelAliasPattern,
  modelUrlCel,
  modelUrlForm,
  modelUrlPattern,
  resourceProfilePattern,
} from './model-references.ts'

export const modelPhases = ['Asleep', 'Waking', 'Ready', 'Draining', 'Failed'] as const
export type ModelPhase = (typeof modelPhases)[number]

export const modelFeatures = ['TextGeneration', 'TextEmbedding', 'Reranking', 'SpeechToText', 'Vision'] as const

const count = (lowest: number) =>
  z.int().min(lowest, `must be at least ${lowest}`).max(1_000_000, 'must be at most 1000000')

const specSchema = z.object({
  features: z
    .array(z.enum(modelFeatures))
    .min(1, 'name at least one feature')
    .default(['TextGeneration'])
    .describe('What the model can do.'),
  owner: z.string().max(253).optional().describe('Who made the model, as `owned_by` in the list of models.'),
  url: z
    .string()
    .max(2048)
    .regex(modelUrlPattern, modelUrlForm)
    .describe('Where its files are: pvc://<claim>/<path>, in a PersistentVolumeClaim of this namespace.'),
  engine: z
    .string()
    .regex(engineNamePattern, 'must be a name of letters, digits, "-", "_" and ".", no longer than 63')
    .describe(
      'The program that serves it: VLLM on cards, LlamaCpp on processors, or another that the operator of the cluster has named.',
    ),
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
  aliases: z
    .array(
      z.string().regex(modelAliasPattern, 'must be letters, digits, "-", "_", ".", ":" and "/", no longer than 200'),
    )
    .max(32)
    .optional()
    .describe(
      'Further names under which clients may ask for it. One that several Models want is that of the oldest; one that a Model has as its own name stays that of the Model.',
    ),
  adapters: z
    .array(
      z.object({
        name: z
          .string()
          .regex(adapterNamePattern, 'must be lower case letters, digits, "-" and ".", no longer than 63')
          .describe('Its own name. Clients ask for <model>_<adapter>.'),
        url: z
          .string()
          .max(2048)
          .regex(modelUrlPattern, modelUrlForm)
          .describe('Where its files are: pvc://<claim>/<path>, in a PersistentVolumeClaim of this namespace.'),
      }),
    )
    .max(32)
    .optional()
    .describe('LoRA adapters that the engine loads with the model, if it can.'),
  args: z.array(z.string().max(4096)).max(64).optional().describe('Further arguments of the serve command.'),
})

export const loadingPhases = ['Starting', 'Copying', 'Reading', 'Loading', 'Preparing'] as const
export type LoadingPhase = (typeof loadingPhases)[number]

const bytes = z.int().min(0)

const loadingSchema = z
  .object({
    phase: z
      .enum(loadingPhases)
      .describe(
        'Starting the engine, Copying files to the node, Reading them, Loading what was read into place, or Preparing to answer.',
      ),
    percent: z.int().min(0).max(100).optional().describe('How much of this phase is done.'),
    bytes: bytes.optional().describe('Bytes that this phase has done.'),
    totalBytes: bytes.optional().describe('Bytes that this phase has to do.'),
    progress: z.string().describe('The same in a few words, such as 45 %.'),
    since: z.string().describe('When the load began.'),
    movedAt: z.string().describe('When it was last seen to move, within half a minute.'),
    stalled: z.boolean().optional().describe('Whether nothing has moved for so long that something may be wrong.'),
  })
  .describe('How far a Pod is that loads the model. Not there while none does, nor for loads that take a moment.')

/** How far a Pod is that loads a model. */
export type ModelLoading = z.infer<typeof loadingSchema>

const statusSchema = z.object({
  phase: z.enum(modelPhases).optional().describe('Asleep, Waking, Ready, Draining or Failed.'),
  replicas: z.int().optional().describe('Pods that there are.'),
  readyReplicas: z.int().optional().describe('Pods that answer requests.'),
  message: z.string().optional().describe('One sentence for people: why the model is not ready, or what it is doing.'),
  loading: loadingSchema.optional(),
  lastLoadSeconds: z.int().min(0).optional().describe('How long the last load took, until the engine could answer.'),
  interfaces: z
    .array(z.string())
    .optional()
    .describe('What its engine answers besides chat completions, such as responses. The gateway translates the rest.'),
  observedGeneration: z.int().optional().describe('The generation of the Model that this status is about.'),
  selector: z.string().optional().describe('Selects its Pods, for the scale subresource.'),
  conditions: conditionsSchema.optional(),
})

export const modelSchema = z
  .object({
    apiVersion: z.literal('sluice.dev/v1'),
    kind: z.literal('Model'),
    metadata: objectMetaSchema,
    spec: specSchema.describe('How the model is served.'),
    status: statusSchema.optional().describe('How it is right now.'),
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
    { name: 'Loading', type: 'string', jsonPath: '.status.loading.progress' },
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
    { path: 'spec.adapters[].url', rule: modelUrlCel, message: modelUrlForm },
    {
      path: 'spec',
      rule: 'self.minReplicas <= self.maxReplicas',
      message: 'minReplicas must not be greater than maxReplicas',
      fieldPath: '.minReplicas',
    },
  ],
})
