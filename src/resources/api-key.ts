import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const apiKeySchema = z.object({
  apiVersion: z.literal('sluice.dev/v1'),
  kind: z.literal('ApiKey'),
  metadata: objectMetaSchema,
  spec: z.object({
    enterprise: z.string().min(1).max(253),
    accessKey: z.string().min(8).max(128),
    /** Hex SHA-256 of the secret. The secret is random and long, so a plain hash cannot be guessed back. */
    secretSha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be a hex SHA-256'),
    disabled: z.boolean().default(false),
  }),
})

/** A key pair of an enterprise. The secret itself is never stored. */
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
  unknownFields: 'prune',
  columns: [
    { name: 'Access Key', type: 'string', jsonPath: '.spec.accessKey' },
    { name: 'Enterprise', type: 'string', jsonPath: '.spec.enterprise' },
    { name: 'Disabled', type: 'boolean', jsonPath: '.spec.disabled' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  hasStatus: false,
})
