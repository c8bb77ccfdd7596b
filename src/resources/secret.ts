import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { checkSecret } from './validation/data-rules.ts'

export const secretSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: objectMetaSchema,
  type: z.string().default('Opaque'),
  data: z.record(z.string(), z.base64()).optional(),
  /** Write-only: folded into `data` on the way in. */
  stringData: z.record(z.string(), z.string()).optional(),
  immutable: z.boolean().optional(),
})

export type Secret = z.infer<typeof secretSchema>

export const secretKind = coreKind(secretSchema, {
  kind: 'Secret',
  plural: 'secrets',
  validate: checkSecret,
  columns: [
    { name: 'Type', type: 'string', cell: ({ type }) => type },
    { name: 'Data', type: 'string', cell: (object) => Object.keys(object.data ?? {}).length },
    coreAgeColumn,
  ],
})
