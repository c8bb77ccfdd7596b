import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { isJsonObject } from '../json-value.ts'

/**
 * The value with the defaults of its schema filled in. A null where none is allowed counts as missing: it becomes the
 * default, or goes. Nothing is copied when nothing changes, so applying it twice gives the very same value.
 */
export function applyDefaults(schema: StructuralSchema, value: unknown): unknown {
  if (Array.isArray(value)) return withItemDefaults(schema, value)
  return isJsonObject(value) ? withFieldDefaults(schema, value) : value
}

function withFieldDefaults(schema: StructuralSchema, value: Readonly<Record<string, unknown>>): unknown {
  let result: Record<string, unknown> | undefined
  const set = (field: string, next: unknown) => {
    result ??= { ...value }
    if (next === undefined) delete result[field]
    else result[field] = next
  }
  const { properties = none, additionalProperties } = schema
  for (const field of defaultedFields(properties)) {
    const present = Object.hasOwn(value, field) && value[field] !== undefined
    if (!present) set(field, defaultOf(properties[field] ?? {}))
  }
  for (const field of Object.keys(value)) {
    const before = value[field]
    const known = Object.hasOwn(properties, field) ? properties[field] : additionalProperties
    if (typeof known !== 'object') continue
    const after = defaulted(known, before)
    if (after !== before) set(field, after)
  }
  return result ?? value
}

function withItemDefaults({ items }: StructuralSchema, value: readonly unknown[]): unknown {
  if (!items) return value
  let result: unknown[] | undefined
  for (const [index, before] of value.entries()) {
    const after = defaulted(items, before)
    // There is no such thing as a missing item.
    if (after === before || after === undefined) continue
    result ??= [...value]
    result[index] = after
  }
  return result ?? value
}

function defaulted(schema: StructuralSchema, value: unknown): unknown {
  if (value !== null || schema.nullable) return applyDefaults(schema, value)
  return defaultOf(schema)
}

/** A copy: whoever gets it may change it. */
function defaultOf(schema: StructuralSchema): unknown {
  const value = schema.default
  return typeof value === 'object' && value !== null ? applyDefaults(schema, structuredClone(value)) : value
}

const none: Readonly<Record<string, StructuralSchema>> = {}
const fieldsWithDefaults = new WeakMap<object, readonly string[]>()

/** Worked out once for a schema: most fields have no default, and objects come often. */
function defaultedFields(properties: Readonly<Record<string, StructuralSchema>>): readonly string[] {
  const known = fieldsWithDefaults.get(properties)
  if (known) return known
  // A field of this name cannot be set like another, and is never kept.
  const fields = Object.keys(properties).filter(
    (field) => field !== '__proto__' && properties[field]?.default !== undefined,
  )
  fieldsWithDefaults.set(properties, fields)
  return fields
}
