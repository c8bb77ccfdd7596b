import { StatusError } from '../../resources/status-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { isJsonObject } from '../../resources/json-value.ts'

/**
 * The value with the defaults of its schema filled in. A null that is not allowed counts as missing: it is replaced by
 * the default, or removed. Nothing is copied when nothing changes, so applying it again returns the very same value.
 */
export function applyDefaults(schema: StructuralSchema, value: unknown): unknown {
  return completed(schema, value, { left: largestDefaults })
}

/** The most that all defaults of one object may come to: a default in the items of a list counts for each item. */
const largestDefaults = 3 * 1024 * 1024

/** The defaults of a schema would make the object larger than any object may be. */
export class DefaultsTooLarge extends StatusError {
  constructor() {
    const why = `the defaults of its schema would add more than ${largestDefaults} bytes to the object`
    super('RequestEntityTooLarge', `Request entity too large: ${why}`)
  }
}

interface Room {
  left: number
}

function completed(schema: StructuralSchema, value: unknown, room: Room): unknown {
  if (Array.isArray(value)) return withItemDefaults(schema, value, room)
  return isJsonObject(value) ? withFieldDefaults(schema, value, room) : value
}

function withFieldDefaults(schema: StructuralSchema, value: Readonly<Record<string, unknown>>, room: Room): unknown {
  let result: Record<string, unknown> | undefined
  const set = (field: string, next: unknown) => {
    result ??= { ...value }
    if (next === undefined) delete result[field]
    else result[field] = next
  }
  const { properties = none, additionalProperties } = schema
  for (const field of defaultedFields(properties)) {
    const present = Object.hasOwn(value, field) && value[field] !== undefined
    if (!present) set(field, defaultOf(properties[field] ?? {}, room))
  }
  for (const field of Object.keys(value)) {
    const before = value[field]
    const known = Object.hasOwn(properties, field) ? properties[field] : additionalProperties
    if (typeof known !== 'object') continue
    const after = defaulted(known, before, room)
    if (after !== before) set(field, after)
  }
  return result ?? value
}

function withItemDefaults({ items }: StructuralSchema, value: readonly unknown[], room: Room): unknown {
  if (!items) return value
  let result: unknown[] | undefined
  for (const [index, before] of value.entries()) {
    const after = defaulted(items, before, room)
    // An item cannot be missing.
    if (after === before || after === undefined) continue
    result ??= [...value]
    result[index] = after
  }
  return result ?? value
}

function defaulted(schema: StructuralSchema, value: unknown, room: Room): unknown {
  if (value !== null || schema.nullable) return completed(schema, value, room)
  return defaultOf(schema, room)
}

/** A copy, which the caller may change. */
function defaultOf(schema: StructuralSchema, room: Room): unknown {
  const value = schema.default
  if (value === undefined) return undefined
  room.left -= sizeOf(schema, value)
  if (room.left < 0) throw new DefaultsTooLarge()
  return typeof value === 'object' && value !== null ? completed(schema, structuredClone(value), room) : value
}

const sizes = new WeakMap<StructuralSchema, number>()

function sizeOf(schema: StructuralSchema, value: unknown): number {
  let size = sizes.get(schema)
  if (size === undefined) sizes.set(schema, (size = JSON.stringify(value)?.length ?? 0))
  return size
}

const none: Readonly<Record<string, StructuralSchema>> = {}
const fieldsWithDefaults = new WeakMap<object, readonly string[]>()

/** Determined once per schema: most fields have no default, and objects come often. */
function defaultedFields(properties: Readonly<Record<string, StructuralSchema>>): readonly string[] {
  const known = fieldsWithDefaults.get(properties)
  if (known) return known
  // `__proto__` cannot be set like other fields, and is never kept.
  const fields = Object.keys(properties).filter(
    (field) => field !== '__proto__' && properties[field]?.default !== undefined,
  )
  fieldsWithDefaults.set(properties, fields)
  return fields
}
