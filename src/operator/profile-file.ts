import { z } from 'zod'
import { SluiceError } from '../foundation/errors.ts'
import { engineNamePattern } from '../resources/model-references.ts'
import { templateField } from './engines/template-field.ts'
import { quantities, sharedMemoryField } from './quantity-fields.ts'
import { type ProfileTable, builtInProfiles } from './resource-profile.ts'
import { weightsCacheField } from './weights/weights-cache-field.ts'

const profilePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?\.com\/gpu(-[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/
const profileForm = 'must have the form <vendor>.com/gpu-<model>, such as nvidia.com/gpu-l40s'
/** Whatever a node's device plugin counts: `nvidia.com/gpu`, `amd.com/gpu`, `nvidia.com/mig-1g.10gb`. */
const cardPattern = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const cardForm = 'must be the name of a resource, such as nvidia.com/gpu or nvidia.com/gpu-l40s'

const besidesCards = quantities.refine(
  (named) => !Object.keys(named).some((name) => profilePattern.test(name)),
  'cards are counted by the Model',
)

const toleration = z.strictObject({
  key: z.string().optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: z.string().optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().optional(),
})

const profile = z.strictObject({
  card: z.string().regex(cardPattern, cardForm).optional(),
  requests: besidesCards.optional(),
  limits: besidesCards.optional(),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  tolerations: z.array(toleration).max(32).optional(),
  affinity: z.looseObject({}).optional(),
  priorityClassName: z.string().min(1).optional(),
  schedulerName: z.string().min(1).optional(),
  runtimeClassName: z.string().min(1).optional(),
  sharedMemory: sharedMemoryField.optional(),
  images: z.record(z.string().regex(engineNamePattern), templateField).optional(),
  imagePullSecrets: z.array(z.string().min(1)).max(16).optional(),
  weightsCache: weightsCacheField.optional(),
})

const table = z.record(
  z.string().refine((name) => name === 'default' || profilePattern.test(name), `${profileForm}, or be "default"`),
  profile,
)

/** The built-in profiles, extended by the `profiles` of a configuration file; `source` names the file in errors. */
export function parseProfiles(value: unknown, source: string): ProfileTable {
  const result = table.safeParse(value)
  if (result.success) return { ...builtInProfiles, ...result.data }
  const [issue] = result.error.issues
  const path = ['profiles', ...(issue?.path ?? [])].join('.')
  const reason = issue?.code === 'invalid_key' ? issue.issues[0]?.message : issue?.message
  throw new SluiceError('invalid_flag', { flag: source, reason: `${path}: ${reason ?? 'is malformed'}` })
}
