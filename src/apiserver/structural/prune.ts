import { objectMetaFields } from '../../resources/object-meta-fields.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'

/** Every object has these fields, whether or not its schema says so. */
export const resourceFields: Readonly<Record<string, StructuralSchema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: objectMetaFields,
}

const nothing: JsonObject = {}
const free: StructuralSchema = { 'x-kubernetes-preserve-unknown-fields': true }

/**
 * The value without the fields its schema does not know. Each dropped field is reported once, by its path, and what is
 * below it is not looked at. Nothing is copied when nothing is dropped. What is the very same object in `pruned` is
 * skipped.
 */
export function prune(
  schema: StructuralSchema,
  value: unknown,
  dropped: (path: string) => void,
  path = '',
  pruned?: unknown,
): unknown {
  if (Array.isArray(value)) return pruneItems(schema, value, dropped, path)
  if (!isJsonObject(value)) return value
  const done = isJsonObject(pruned) ? pruned : nothing
  let result: Record<string, unknown> | undefined
  for (const field of Object.keys(value)) {
    const before = value[field]
    if (before !== undefined && before === done[field]) continue
    const known = fieldSchema(schema, field)
    // Copying an own field of this name would set the prototype.
    if (!known || field === '__proto__') {
      dropped(path === '' ? field : `${path}.${field}`)
      result ??= { ...value }
      delete result[field]
      continue
    }
    if (typeof before !== 'object') continue
    const after = prune(known, before, dropped, path === '' ? field : `${path}.${field}`, done[field])
    if (after === before) continue
    result ??= { ...value }
    result[field] = after
  }
  return result ?? value
}

function pruneItems(
  schema: StructuralSchema,
  items: readonly unknown[],
  dropped: (path: string) => void,
  path: string,
): unknown {
  const known = schema.items ?? (schema['x-kubernetes-preserve-unknown-fields'] ? free : {})
  let result: unknown[] | undefined
  for (const [index, before] of items.entries()) {
    const after = prune(known, before, dropped, `${path}[${index}]`)
    if (after === before) continue
    result ??= [...items]
    result[index] = after
  }
  return result ?? items
}

/** The schema of one field; undefined when there is none. */
export function fieldSchema(schema: StructuralSchema, field: string): StructuralSchema | undefined {
  const { properties, additionalProperties } = schema
  if (properties && Object.hasOwn(properties, field)) return properties[field]
  if (schema['x-kubernetes-embedded-resource'] && Object.hasOwn(resourceFields, field)) return resourceFields[field]
  if (typeof additionalProperties === 'object') return additionalProperties
  if (schema['x-kubernetes-preserve-unknown-fields']) return free
  return additionalProperties === true ? free : undefined
}
