import { z } from 'zod'
import type { Column, Kind } from './kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { podSpecSchema } from './pod.ts'

export const labelSelectorSchema = z.looseObject({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z
    .array(z.looseObject({ key: z.string(), operator: z.string(), values: z.array(z.string()).optional() }))
    .optional(),
})

export type LabelSelector = z.infer<typeof labelSelectorSchema>

/** What the Pods of a workload look like. */
export const podTemplateSchema = z.looseObject({
  metadata: objectMetaSchema.partial().optional(),
  spec: podSpecSchema,
})

export type PodTemplate = z.infer<typeof podTemplateSchema>

const workloads = new Set(['apps/Deployment', 'apps/ReplicaSet', 'apps/StatefulSet', 'batch/Job'])

/** Where a kind holds the template of its Pods; undefined for kinds that hold none. */
export function podTemplatePath({ group, kind }: Pick<Kind, 'group' | 'kind'>): readonly string[] | undefined {
  if (workloads.has(`${group}/${kind}`)) return ['spec', 'template']
  return group === '' && kind === 'PodTemplate' ? ['template'] : undefined
}

interface WithTemplate {
  readonly spec: { readonly template: PodTemplate }
}

function containersOf({ spec }: WithTemplate) {
  return spec.template.spec.containers ?? []
}

export const containersColumn: Column<never> & { cell(object: WithTemplate): string } = {
  name: 'Containers',
  type: 'string',
  priority: 1,
  cell: (object: WithTemplate) =>
    containersOf(object)
      .map(({ name }) => name)
      .join(','),
}

export const imagesColumn: Column<never> & { cell(object: WithTemplate): string } = {
  name: 'Images',
  type: 'string',
  priority: 1,
  cell: (object: WithTemplate) =>
    containersOf(object)
      .map(({ image }) => image ?? '')
      .join(','),
}
