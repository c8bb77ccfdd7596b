import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
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
  // Not all of them at once: that would be the whole cluster.
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  columns: [{ name: 'Status', type: 'string', cell: ({ status }) => status?.phase ?? '' }, coreAgeColumn],
})
