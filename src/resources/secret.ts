import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { type JsonObject, isJsonObject } from './json-value.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { core, missing } from './type-rules.ts'
import { fixed, sealed } from './update-rules.ts'
import { checkSecret } from './validation/data-rules.ts'

export const secretSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: objectMetaSchema,
  type: z.string().default('Opaque'),
  data: z.record(z.string(), z.base64()).optional(),
  /** Write-only: merged into `data` on the way in. */
  stringData: z.record(z.string(), z.string()).optional(),
  immutable: z.boolean().optional(),
})

export type Secret = z.infer<typeof secretSchema>

/** What has a certificate (`tls.crt`) and its key (`tls.key`). */
export const tlsSecretType = 'kubernetes.io/tls'

export const secretKind = coreKind(secretSchema, {
  kind: 'Secret',
  plural: 'secrets',
  validate: checkSecret,
  immutable: [fixed('type'), sealed],
  selectableFields: ['type'],
  types: { [`${core}Secret`]: { complete: (secret) => missing({ type: 'Opaque' })(foldStringData(secret)) } },
  columns: [
    { name: 'Type', type: 'string', cell: ({ type }) => type },
    { name: 'Data', type: 'string', cell: (object) => Object.keys(object.data ?? {}).length },
    coreAgeColumn,
  ],
})

function foldStringData(secret: JsonObject): JsonObject {
  const { stringData, ...rest } = secret
  if (!isJsonObject(stringData)) return secret
  const folded: Record<string, unknown> = { ...(isJsonObject(secret['data']) ? secret['data'] : {}) }
  for (const [key, value] of Object.entries(stringData)) {
    // Values that are not strings are left for the schema to refuse.
    if (typeof value !== 'string') return secret
    folded[key] = Buffer.from(value, 'utf8').toString('base64')
  }
  return { ...rest, data: folded }
}
