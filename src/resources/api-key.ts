import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const apiKeyUses = ['Management', 'Inference'] as const

export const apiKeySchema = z.object({
  apiVersion: z.literal('sluice.dev/v1'),
  kind: z.literal('ApiKey'),
  metadata: objectMetaSchema,
  spec: z.object({
    enterprise: z.string().min(1).max(253),
    accessKey: z.string().min(8).max(128),
    /** Hex SHA-256 of the secret. The secret is long and random, so it cannot be guessed from a plain hash. */
    secretSha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be a hex SHA-256'),
    /** While the secret is changed for another: the one before, which opens the same until then. */
    previousSecret: z
      .object({
        sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be a hex SHA-256'),
        expiresAt: z.string().meta({ format: 'date-time' }),
      })
      .optional(),
    disabled: z.boolean().default(false),
    /**
     * What the key is for: the management API, or the inference endpoints. Never both, because inference keys are given
     * to programs.
     */
    use: z.enum(apiKeyUses).default('Management'),
    /** For an inference key: the Models it may use; all of them if not set. */
    allowedModels: z
      .array(z.string().min(1).max(253))
      .min(1, 'name at least one Model, or leave the list out for all')
      .max(1_000)
      .optional(),
    /** RFC 3339; the key is refused from then on. */
    expiresAt: z.string().meta({ format: 'date-time' }).optional(),
  }),
})

/**
 * A key of an enterprise: a pair for the management API, or a bearer key for inference. The secret itself is never
 * stored.
 */
export type ApiKey = z.infer<typeof apiKeySchema> & { [field: string]: unknown }

export const apiKeyKind = customKind<ApiKey>({
  group: 'sluice.dev',
  version: 'v1',
  kind: 'ApiKey',
  plural: 'apikeys',
  singular: 'apikey',
  shortNames: [],
  categories: ['sluice'],
  namespaced: false,
  schema: apiKeySchema,
  columns: [
    { name: 'Access Key', type: 'string', jsonPath: '.spec.accessKey' },
    { name: 'Enterprise', type: 'string', jsonPath: '.spec.enterprise' },
    { name: 'Use', type: 'string', jsonPath: '.spec.use' },
    { name: 'Disabled', type: 'boolean', jsonPath: '.spec.disabled' },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  hasStatus: false,
})
