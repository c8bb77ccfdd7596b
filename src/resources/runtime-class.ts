import { z } from 'zod'
import { coreAgeColumn } from './age.ts'
import { coreKind } from './core-kind.ts'
import type { FieldError } from './field-error.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { objectIn, textEntriesIn } from './validation/json-access.ts'
import { checkDnsLabel, checkLabels } from './validation/name-syntax.ts'
import { checkQuantity } from './validation/resource-rules.ts'

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

/** By what a Pod is to be run, and what that costs and asks of a node. */
export type RuntimeClass = z.infer<typeof runtimeClassSchema>

export const runtimeClassKind = coreKind(runtimeClassSchema, {
  group: 'node.k8s.io',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  namespaced: false,
  validate: checkRuntimeClass,
  columns: [{ name: 'Handler', type: 'string', cell: ({ handler }) => handler }, coreAgeColumn],
})

function checkRuntimeClass({ handler, overhead, scheduling }: RuntimeClass): FieldError[] {
  const fixed = textEntriesIn(overhead, 'podFixed')
  return [
    ...checkDnsLabel('handler', handler),
    ...fixed.flatMap(([name, amount]) => checkQuantity(`overhead.limits[${name}]`, name, amount)),
    ...checkLabels('scheduling.nodeSelector', textEntriesIn(objectIn({ scheduling }, 'scheduling'), 'nodeSelector')),
  ]
}
