import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { fixed } from './update-rules.ts'
import { checkRuntimeClass } from './validation/runtime-class-rules.ts'

export const runtimeClassSchema = z.looseObject({
  apiVersion: z.literal('node.k8s.io/v1'),
  kind: z.literal('RuntimeClass'),
  metadata: objectMetaSchema,
  handler: z.string(),
  overhead: z.looseObject({ podFixed: z.record(z.string(), z.string()).optional() }).optional(),
  scheduling: z
    .looseObject({
      nodeSelector: z.record(z.string(), z.string()).optional(),
      tolerations: z.array(z.looseObject({})).optional(),
    })
    .optional(),
})

export type RuntimeClass = z.infer<typeof runtimeClassSchema>

/** How Pods run: the handler of the node, its overhead, and the nodes that have it. */
export const runtimeClassKind = coreKind(runtimeClassSchema, {
  group: 'node.k8s.io',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  namespaced: false,
  validate: checkRuntimeClass,
  immutable: [fixed('handler')],
  columns: [
    { name: 'Name', type: 'string', format: 'name', cell: ({ metadata }) => metadata.name },
    { name: 'Handler', type: 'string', cell: ({ handler }) => handler },
    coreAgeColumn,
  ],
})
