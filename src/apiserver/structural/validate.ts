import { type FieldError, duplicate, invalid, required, tooMany } from '../../resources/field-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { type JsonObject, isJsonObject, sameJson } from '../../resources/json-value.ts'
import { checkAlternatives } from './alternatives.ts'
import { ErrorList } from './error-list.ts'
import { fieldSchema } from './prune.ts'
import { scalarChecksOf } from './scalar-checks.ts'
import { Work } from './work.ts'

/** Where a value is, what it was before (for updates), and where its errors go. */
export interface Place {
  readonly path: string
  readonly previous: unknown
  readonly errors: ErrorList
  readonly work: Work
}

/** The most steps for judging one object; a real one takes a few per value. */
const mostSteps = 1_000_000
const notJudged = 'the schema has too many alternatives and expressions to judge an object as large as this one by them'

/**
 * What is wrong with a value, in the words of the API server. What an update leaves unchanged is not judged again: an
 * object that was stored before its schema became stricter can still be changed elsewhere.
 */
export function validate(schema: StructuralSchema, value: unknown, previous?: unknown): readonly FieldError[] {
  const errors = new ErrorList()
  const work = new Work(mostSteps)
  checkValue(schema, value, { path: '', previous, errors, work })
  return work.isOver ? [...errors.all.slice(0, 1), invalid('<nil>', null, notJudged)] : errors.all
}

export function checkValue(schema: StructuralSchema, value: unknown, place: Place): void {
  if (place.errors.isFull || !place.work.take(2 + (schema.required?.length ?? 0))) return
  if (place.previous !== undefined && sameJson(value, place.previous)) return
  if (value === null && schema.nullable) return
  checkAlternatives(schema, place.path, place.errors, (alternative) => {
    const errors = new ErrorList()
    checkValue(alternative, value, { path: place.path, previous: undefined, errors, work: place.work })
    return errors.all
  })
  for (const check of scalarChecksOf(schema)) check(value, place.path, place.errors, place.work)
  if (Array.isArray(value)) checkItems(schema, value, place)
  else if (isJsonObject(value)) checkFields(schema, value, place)
}

function checkFields(schema: StructuralSchema, value: JsonObject, place: Place): void {
  const { errors, path, work } = place
  const { minProperties, maxProperties } = schema
  if (minProperties !== undefined || maxProperties !== undefined) {
    const count = Object.keys(value).length
    if (minProperties !== undefined && count < minProperties) {
      errors.add(invalid(path, count, `${path} in body should have at least ${minProperties} properties`))
    }
    if (maxProperties !== undefined && count > maxProperties) errors.add(tooMany(path, count, maxProperties))
  }
  for (const field of schema.required ?? []) {
    if (!Object.hasOwn(value, field) || value[field] === undefined) errors.add(required(below(path, field)))
  }
  if (schema['x-kubernetes-embedded-resource']) checkEmbedded(value, place)
  const before = isJsonObject(place.previous) ? place.previous : undefined
  for (const field of Object.keys(value)) {
    const known = fieldSchema(schema, field)
    if (!known || value[field] === undefined) continue
    const previous = before && Object.hasOwn(before, field) ? before[field] : undefined
    checkValue(known, value[field], { path: below(path, field), previous, errors, work })
  }
}

function checkEmbedded(value: JsonObject, { path, errors }: Place): void {
  for (const field of ['apiVersion', 'kind']) {
    if (value[field] === undefined || value[field] === '') errors.add(required(below(path, field)))
  }
}

function checkItems(schema: StructuralSchema, items: readonly unknown[], place: Place): void {
  const { path, errors, work } = place
  const { minItems, maxItems } = schema
  if (minItems !== undefined && items.length < minItems) {
    errors.add(invalid(path, items.length, `${path} in body should have at least ${minItems} items`))
  }
  if (maxItems !== undefined && items.length > maxItems) errors.add(tooMany(path, items.length, maxItems))
  checkUniqueness(schema, items, place)
  if (!schema.items) return
  const previousOf = correlate(schema, place.previous)
  for (const [index, item] of items.entries()) {
    checkValue(schema.items, item, { path: `${path}[${index}]`, previous: previousOf(item), errors, work })
  }
}

/** Finds the item of the previous list that corresponds to an item; only possible in map-like lists. */
export function correlate(schema: StructuralSchema, previous: unknown): (item: unknown) => unknown {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(previous)) return () => undefined
  const byKey = new Map(previous.map((item: unknown) => [keyText(schema, item), item]))
  return (item) => byKey.get(keyText(schema, item))
}

function checkUniqueness(schema: StructuralSchema, items: readonly unknown[], { path, errors }: Place): void {
  const type = schema['x-kubernetes-list-type']
  if (type !== 'set' && type !== 'map') return
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    const text = type === 'map' ? keyText(schema, item) : canonicalText(item)
    if (!seen.has(text)) seen.add(text)
    else errors.add(duplicate(`${path}[${index}]`, type === 'map' ? keyOf(schema, item) : item))
  }
}

function keyText(schema: StructuralSchema, item: unknown): string {
  return canonicalText(keyOf(schema, item))
}

function keyOf(schema: StructuralSchema, item: unknown): JsonObject {
  const key: Record<string, unknown> = {}
  if (!isJsonObject(item)) return key
  for (const field of schema['x-kubernetes-list-map-keys'] ?? []) {
    if (Object.hasOwn(item, field)) key[field] = item[field]
  }
  return key
}

/** Equal texts for equal values, whatever the order of their fields. */
function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item)).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value) ?? 'null'
  const fields = Object.keys(value).sort()
  return `{${fields.map((field) => `${JSON.stringify(field)}:${canonicalText(value[field])}`).join(',')}}`
}

export function below(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`
}
