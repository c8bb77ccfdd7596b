import type { GrammarRule } from './values/grammar-rule.ts'

/** A schema as `toGbnfSchema` returns it. */
export type ConvertedSchema = Readonly<Record<string, unknown>>

/** The rule of our own that stands for a schema, if there is one. */
export function ruleOf({ rule }: ConvertedSchema): GrammarRule | undefined {
  return isSchema(rule) && typeof rule['expression'] === 'string'
    ? { ...rule, expression: rule['expression'] }
    : undefined
}

const maps = ['properties', '$defs'] as const
const lists = ['oneOf', 'prefixItems'] as const
const singles = ['items', 'additionalProperties'] as const

/** The same schema, with `change` applied to each of the schemas that it directly contains. */
export function mapParts(schema: ConvertedSchema, change: (part: ConvertedSchema) => ConvertedSchema): ConvertedSchema {
  const changed: Record<string, unknown> = { ...schema }
  for (const key of maps) {
    const parts = namedParts(schema, key)
    if (parts.length > 0) changed[key] = Object.fromEntries(parts.map(([name, part]) => [name, change(part)]))
  }
  for (const key of lists) if (Array.isArray(schema[key])) changed[key] = listedParts(schema, key).map(change)
  for (const key of singles) if (isSchema(schema[key])) changed[key] = change(schema[key])
  return changed
}

/** The schemas that the parts of a value must follow; alternatives and definitions are not included. */
export function valueParts(schema: ConvertedSchema): readonly ConvertedSchema[] {
  const inner = singles.map((key) => schema[key]).filter(isSchema)
  return [...namedParts(schema, 'properties').map(([, part]) => part), ...listedParts(schema, 'prefixItems'), ...inner]
}

export function namedParts(schema: ConvertedSchema, key: 'properties' | '$defs') {
  const parts = Object.entries(isSchema(schema[key]) ? schema[key] : {})
  return parts.filter((entry): entry is [string, ConvertedSchema] => isSchema(entry[1]))
}

export function listedParts(schema: ConvertedSchema, key: 'oneOf' | 'prefixItems'): readonly ConvertedSchema[] {
  const parts: unknown = schema[key]
  return Array.isArray(parts) ? parts.filter(isSchema) : []
}

function isSchema(value: unknown): value is ConvertedSchema {
  return typeof value === 'object' && value !== null
}
