import { z } from 'zod'

export { keyOf, type ObjectRef, refOf } from './object-ref.ts'

const stringMap = z.record(z.string(), z.string())

export const ownerReferenceSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
})

export type OwnerReference = z.infer<typeof ownerReferenceSchema>

export const objectMetaSchema = z.looseObject({
  name: z.string(),
  generateName: z.string().optional(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().int().optional(),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().optional(),
  deletionGracePeriodSeconds: z.number().int().optional(),
  labels: stringMap.optional(),
  annotations: stringMap.optional(),
  ownerReferences: z.array(ownerReferenceSchema).optional(),
  finalizers: z.array(z.string()).optional(),
})

export type ObjectMeta = z.infer<typeof objectMetaSchema>

/** What all resources have in common. Fields that a kind's schema does not name are kept as they are. */
export interface KubernetesObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: unknown
}

/** Any object at all, for kinds whose fields are known only by a structural schema. */
export const kubernetesObjectSchema: z.ZodType<KubernetesObject> = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: objectMetaSchema,
})

export const conditionSchema = z.object({
  type: z.string().describe('What this is about, such as Ready.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it is so.'),
  reason: z.string().optional().describe('Why, as one word for programs.'),
  message: z.string().optional().describe('Why, in words for people.'),
  lastTransitionTime: z.string().optional().describe('When the status was last another.'),
  observedGeneration: z.number().int().optional().describe('The generation of the object that this is about.'),
})

export const conditionsSchema = z.array(conditionSchema).describe('What is so and what is not, each with its reason.')

export type Condition = z.infer<typeof conditionSchema>

/** Replaces the condition of the same type; the transition time only moves when the status does. */
export function withCondition(conditions: readonly Condition[] | undefined, next: Condition, now: number): Condition[] {
  const previous = conditions?.find((condition) => condition.type === next.type)
  const changed = previous?.status !== next.status
  const lastTransitionTime = changed ? timestamp(now) : (previous?.lastTransitionTime ?? timestamp(now))
  return [...(conditions ?? []).filter((condition) => condition.type !== next.type), { ...next, lastTransitionTime }]
}

let lastSecond = Number.NaN
let lastTimestamp = ''

/**
 * A time in Kubernetes' format: RFC 3339 in whole seconds. Remembers the last one, because every write needs it, mostly
 * for the same second.
 */
export function timestamp(now: number): string {
  const second = Math.floor(now / 1000)
  if (second !== lastSecond) {
    lastTimestamp = new Date(second * 1000).toISOString().replace(/\.\d{3}Z$/, 'Z')
    lastSecond = second
  }
  return lastTimestamp
}
