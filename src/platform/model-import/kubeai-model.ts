import { z } from 'zod'
import { customKind } from '../../resources/custom-kind.ts'
import { type KubernetesObject, kubernetesObjectSchema, objectMetaSchema } from '../../resources/kubernetes-object.ts'

const count = z.int().nullish()

/** What KubeAI's Models say. Nothing is checked beyond types: its own API server let them in, or will refuse them. */
const specSchema = z.looseObject({
  url: z.string(),
  engine: z.string(),
  features: z.array(z.string()).nullish(),
  owner: z.string().nullish(),
  resourceProfile: z.string().nullish(),
  cacheProfile: z.string().nullish(),
  image: z.string().nullish(),
  args: z.array(z.string()).nullish(),
  env: z.record(z.string(), z.string()).nullish(),
  envFrom: z.array(z.unknown()).nullish(),
  adapters: z.array(z.looseObject({ name: z.string(), url: z.string() })).nullish(),
  files: z.array(z.looseObject({ path: z.string() })).nullish(),
  loadBalancing: z.looseObject({ strategy: z.string().nullish() }).nullish(),
  priorityClassName: z.string().nullish(),
  replicas: count,
  minReplicas: count,
  maxReplicas: count,
  autoscalingDisabled: z.boolean().nullish(),
  targetRequests: count,
  scaleDownDelaySeconds: count,
})

export const kubeAiModelSchema = z.looseObject({
  apiVersion: z.literal('kubeai.org/v1'),
  kind: z.literal('Model'),
  metadata: objectMetaSchema,
  spec: specSchema,
})

export type KubeAiModel = z.infer<typeof kubeAiModelSchema>
export type KubeAiSpec = KubeAiModel['spec']

export const kubeAiFields: ReadonlySet<string> = new Set(Object.keys(specSchema.shape))

/** As a kind of another cluster, to list it there. */
export const kubeAiModelKind = customKind<KubernetesObject>({
  group: 'kubeai.org',
  version: 'v1',
  kind: 'Model',
  plural: 'models',
  singular: 'model',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: kubernetesObjectSchema,
  columns: [],
  hasStatus: true,
})
