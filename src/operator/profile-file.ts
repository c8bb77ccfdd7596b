import { z } from 'zod'
import { SluiceError } from '../foundation/errors.ts'
import { canonicalQuantity } from '../resources/canonical-quantity.ts'
import { type ProfileTable, builtInProfiles } from './resource-profile.ts'

const cardPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?\.com\/gpu-[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const cardForm = 'must have the form <vendor>.com/gpu-<model>, such as nvidia.com/gpu-l40s'

const quantity = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => /^\d/.test(text) && canonicalQuantity(text) !== undefined, 'must be a quantity such as 500m or 4Gi')

const quantities = z
  .record(z.string(), quantity)
  .refine((named) => !Object.keys(named).some((name) => cardPattern.test(name)), 'cards are counted by the Model')

const toleration = z.strictObject({
  key: z.string().optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: z.string().optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().optional(),
})

const profile = z.strictObject({
  card: z.string().regex(cardPattern, cardForm).optional(),
  requests: quantities.optional(),
  limits: quantities.optional(),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  tolerations: z.array(toleration).max(32).optional(),
})

const table = z.record(
  z.string().refine((name) => name === 'default' || cardPattern.test(name), `${cardForm}, or be "default"`),
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
