import { humanDuration } from '../../resources/columns/age.ts'
import type { Column, Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { valueAtPath } from '../../resources/json-value.ts'

export type IncludeObject = 'None' | 'Metadata' | 'Object'

/** A `meta.k8s.io/v1` Table, which is what `kubectl get` prints. */
export function tableOf(
  kind: Kind,
  objects: readonly KubernetesObject[],
  metadata: Readonly<Record<string, unknown>>,
  options: { readonly now: number; readonly include: IncludeObject; readonly withColumns: boolean },
): Record<string, unknown> {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: options.withColumns ? columnDefinitions(kind) : null,
    rows: objects.map(rowOf(kind, options.now, options.include)),
  }
}

/** Returns the function that turns an object into a row of such a table. */
export function rowOf(kind: Kind, now: number, include: IncludeObject): (object: KubernetesObject) => object {
  const columns = columnsOf(kind)
  return (object) => ({
    cells: columns.map((column) => cellOf(column, object, now)),
    ...included(object, include),
  })
}

/** The metadata in a row beside its cells, from which kubectl takes namespace and version. */
export function partialMetadata(object: KubernetesObject): Record<string, unknown> {
  let partial = partials.get(object)
  if (!partial) {
    partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata }
    partials.set(object, partial)
  }
  return partial
}

/** One for everybody, so that its bytes can be shared, too. */
const partials = new WeakMap<KubernetesObject, Record<string, unknown>>()

function included(object: KubernetesObject, include: IncludeObject): Record<string, unknown> {
  switch (include) {
    case 'None':
      return {}
    case 'Metadata':
      return { object: partialMetadata(object) }
    default:
      return { object }
  }
}

/** The columns of a kind: the name first, unless the kind places it elsewhere. */
export function columnsOf(kind: Kind): readonly Column[] {
  return kind.columns.some(({ format }) => format === 'name') ? kind.columns : [nameColumn, ...kind.columns]
}

const nameColumn: Column = { name: 'Name', type: 'string', format: 'name', cell: ({ metadata }) => metadata.name }

function columnDefinitions(kind: Kind): Array<Record<string, unknown>> {
  return columnsOf(kind).map((column) => ({
    name: column.name,
    type: column.type,
    format: column.format ?? '',
    description: column.description ?? column.jsonPath ?? column.name,
    priority: column.priority ?? 0,
  }))
}

function cellOf(column: Column, object: KubernetesObject, now: number): string | number | boolean | null {
  if (column.cell) return column.cell(object, now)
  const path = (column.jsonPath ?? '').split('.').filter((segment) => segment !== '')
  const value = valueAtPath(object, path)
  if (column.type === 'date') {
    const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
    return Number.isNaN(at) ? '<unknown>' : humanDuration(now - at)
  }
  if (value === undefined || value === null) return null
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  return JSON.stringify(value)
}
