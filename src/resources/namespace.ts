import { z } from 'zod'
import { ageColumn } from './age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const namespaceSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Namespace'),
  metadata: objectMetaSchema,
  spec: z.looseObject({ finalizers: z.array(z.string()).optional() }).optional(),
  status: z.looseObject({ phase: z.enum(['Active', 'Terminating']).optional() }).optional(),
})

export type Namespace = z.infer<typeof namespaceSchema>

export const namespaceKind = coreKind(namespaceSchema, {
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns'],
  namespaced: false,
  hasStatus: true,
  columns: [{ name: 'Status', type: 'string', jsonPath: '.status.phase' }, ageColumn],
})
