import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const apiKeyUses = ['Management', 'Inference'] as const

export const apiKeySchema = z
  .object({
    apiVersion: z.literal('sluice.dev/v1'),
    kind: z.literal('ApiKey'),
    metadata: objectMetaSchema,
    spec: z
      .object({
        enterprise: z.string().min(1).max(253).describe('Whose key it is.'),
        accessKey: z.string().min(8).max(128).describe('The public half.'),
        // The secret is long and random, so it cannot be guessed from a plain hash.
        secretSha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/, 'must be a hex SHA-256')
          .describe('Hex SHA-256 of the secret. The secret itself is kept nowhere.'),
        previousSecret: z
          .object({
            sha256: z
              .string()
              .regex(/^[0-9a-f]{64}$/, 'must be a hex SHA-256')
              .describe('Hex SHA-256 of that secret.'),
            expiresAt: z.string().meta({ format: 'date-time' }).describe('Until when it opens (RFC 3339).'),
          })
          .optional()
          .describe('While the secret is rotated: the one before, which opens the same until it expires.'),
        disabled: z.boolean().default(false).describe('Refuses the key, without deleting it.'),
        // Never both, because inference keys are given to programs.
        use: z
          .enum(apiKeyUses)
          .default('Management')
          .describe('What the key is for: the management API, or the inference endpoints.'),
        allowedModels: z
          .array(z.string().min(1).max(253))
          .min(1, 'name at least one Model, or leave the list out for all')
          .max(1_000)
          .optional()
          .describe('For an inference key: the Models it may use; all of them if not set.'),
        expiresAt: z
          .string()
          .meta({ format: 'date-time' })
          .optional()
          .describe('The key is refused from then on (RFC 3339).'),
      })
      .describe('What the key opens, for whom and until when.'),
  })
  .describe(
    'A key of an enterprise: a pair for the management API, or a bearer key for inference. Secrets are not in it.',
  )

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
