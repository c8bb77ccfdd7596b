import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import type { Column, Kind } from './kind.ts'
import { type KubernetesObject, objectMetaSchema } from './kubernetes-object.ts'
import { objectMetaFields } from './object-meta-fields.ts'
import type { StructuralSchema } from './structural-schema.ts'

/** What Pods and nodes use right now, for `kubectl top`: measured when somebody asks, and never stored. */
export const metricsGroup = 'metrics.k8s.io'

const usageSchema = z.looseObject({ cpu: z.string(), memory: z.string() })

export type ResourceUsage = z.infer<typeof usageSchema>

const measured = {
  apiVersion: z.string(),
  metadata: objectMetaSchema,
  timestamp: z.string(),
  window: z.string(),
}

const nodeMetricsSchema = z.looseObject({ ...measured, kind: z.literal('NodeMetrics'), usage: usageSchema })
const podMetricsSchema = z.looseObject({
  ...measured,
  kind: z.literal('PodMetrics'),
  containers: z.array(z.looseObject({ name: z.string(), usage: usageSchema })),
})

export type NodeMetrics = z.infer<typeof nodeMetricsSchema>
export type PodMetrics = z.infer<typeof podMetricsSchema>

const text = (description: string): StructuralSchema => ({ type: 'string', description })
const usageFields: StructuralSchema = {
  type: 'object',
  description: 'What was used: `cpu` in cores on average over the window, `memory` in bytes at its end.',
  additionalProperties: { type: 'string' },
}

const fieldsWith = (description: string, own: Readonly<Record<string, StructuralSchema>>): StructuralSchema => ({
  type: 'object',
  description,
  properties: {
    apiVersion: text('The version of the schema of this object.'),
    kind: text('What this object is.'),
    metadata: objectMetaFields,
    timestamp: { ...text('When the window ended.'), format: 'date-time' },
    window: text('How long was measured.'),
    ...own,
  },
})

function metricsKind<T extends KubernetesObject>(
  schema: z.ZodType<T>,
  facts: Pick<Kind<T>, 'kind' | 'plural' | 'namespaced'>,
  description: string,
  own: Readonly<Record<string, StructuralSchema>>,
  usageOf: (object: T) => readonly ResourceUsage[],
): Kind<T> {
  const fields = fieldsWith(description, own)
  const shown = (name: string, resource: 'cpu' | 'memory'): Column<T> => ({
    name,
    type: 'string',
    cell: (object) =>
      usageOf(object)
        .map((usage) => usage[resource])
        .join(','),
  })
  return {
    ...facts,
    group: metricsGroup,
    version: 'v1beta1',
    singular: '',
    shortNames: [],
    categories: [],
    origin: 'core',
    hasStatus: false,
    verbs: ['get', 'list'],
    schema,
    fields: () => fields,
    columns: [shown('CPU', 'cpu'), shown('Memory', 'memory'), coreAgeColumn],
  }
}

export const nodeMetricsKind = metricsKind(
  nodeMetricsSchema,
  { kind: 'NodeMetrics', plural: 'nodes', namespaced: false },
  'What a node uses right now.',
  { usage: usageFields },
  ({ usage }) => [usage],
)

export const podMetricsKind = metricsKind(
  podMetricsSchema,
  { kind: 'PodMetrics', plural: 'pods', namespaced: true },
  'What the containers of a Pod use right now.',
  {
    containers: {
      type: 'array',
      description: 'What each running container used.',
      items: { type: 'object', properties: { name: text('The name of the container.'), usage: usageFields } },
    },
  },
  ({ containers }) => containers.map(({ usage }) => usage),
)

export const metricsKinds: readonly Kind[] = [nodeMetricsKind, podMetricsKind]
