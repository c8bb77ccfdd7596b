import { humanDuration } from '../../resources/columns/age.ts'
import type { Column } from '../../resources/kind.ts'
import { JsonPath } from './json-path.ts'

export const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'] as const

export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly format?: string | undefined
  readonly description?: string | undefined
  readonly priority?: number | undefined
  readonly jsonPath: string
}

/** A column of a CustomResourceDefinition: the first value at its path, shown by its type, or nothing. */
export function printerColumn({ name, type, description, priority, jsonPath }: PrinterColumn): Column {
  const path = new JsonPath(jsonPath)
  const typed = columnTypes.find((known) => known === type) ?? 'string'
  return {
    name,
    type: typed,
    description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    ...(priority !== undefined && { priority }),
    jsonPath,
    cell: (object, now) => cellOf(typed, path.find(object)[0], now),
  }
}

/** The columns of a custom kind whose definition names none. */
export const ageColumns: readonly PrinterColumn[] = [
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
]

function cellOf(type: (typeof columnTypes)[number], value: unknown, now: number): string | number | boolean | null {
  if (value === undefined || value === null) return null
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date': {
      if (typeof value !== 'string') return null
      const at = Date.parse(value)
      return Number.isNaN(at) ? '<invalid>' : humanDuration(now - at)
    }
    default:
      return typeof value === 'string' ? value : JSON.stringify(value)
  }
}
