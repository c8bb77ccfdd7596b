import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { sealed } from './update-rules.ts'
import { checkConfigMap } from './validation/data-rules.ts'

export const configMapSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata: objectMetaSchema,
  data: z.record(z.string(), z.string()).optional(),
  binaryData: z.record(z.string(), z.base64()).optional(),
  immutable: z.boolean().optional(),
})

export type ConfigMap = z.infer<typeof configMapSchema>

export const configMapKind = coreKind(configMapSchema, {
  kind: 'ConfigMap',
  plural: 'configmaps',
  validate: checkConfigMap,
  immutable: [sealed],
  shortNames: ['cm'],
  columns: [
    {
      name: 'Data',
      type: 'string',
      cell: (object) => Object.keys(object.data ?? {}).length + Object.keys(object.binaryData ?? {}).length,
    },
    coreAgeColumn,
  ],
})
