import { canonicalQuantity } from '../../resources/canonical-quantity.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import type { Kind } from '../../resources/kind.ts'
import type { Envelope } from '../../resources/kind-facts.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { type TypeRules, withTypeRule } from '../../resources/type-rules.ts'

/**
 * Completes an object of a core kind: the defaults of its types, values in canonical form, and fields that follow from
 * others.
 */
export function completeObject(kind: Kind, object: Envelope, previous?: JsonObject): Envelope {
  if (kind.origin === 'custom') return object
  const fields = kind.fields()
  const rules = kind.types ?? noRules
  const completed = completeFields(rules, fields, withRules(rules, fields, object), previous, true)
  const { apiVersion, metadata } = object
  const whole = completed === object ? object : { ...completed, apiVersion, kind: object.kind, metadata }
  return kind.complete?.(whole, previous) ?? whole
}

/** The status an object begins with. */
export function initialStatus(kind: Kind, object: JsonObject, sent: unknown): unknown {
  if (kind.origin === 'custom') return undefined
  return kind.initialStatus ? kind.initialStatus(object, sent) : {}
}

const noRules: TypeRules = {}

function withRules(rules: TypeRules, { 'x-sluice-type-name': name }: StructuralSchema, value: JsonObject): JsonObject {
  const rule = name === undefined ? undefined : rules[name]
  return rule ? withTypeRule(rule, value) : value
}

const timeTypes: Readonly<Record<string, number>> = {
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 0,
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 6,
}

/**
 * Walks along the schema, with type defaults before the fields, so that what they add is completed, too. What does not
 * fit is left for validation. Nothing is copied where nothing is added, and what is the very same object in `previous`
 * was completed before.
 */
function completeValue(rules: TypeRules, schema: StructuralSchema, value: unknown, previous?: unknown): unknown {
  const name = schema['x-sluice-type-name']
  if (schema.format === 'quantity') return quantityText(value)
  if (name !== undefined && typeof value === 'string') return timeText(value, timeTypes[name])
  if (Array.isArray(value)) return schema.items ? completeItems(rules, schema.items, value) : value
  if (!isJsonObject(value) || value === previous) return value
  return completeFields(rules, schema, withRules(rules, schema, value), previous)
}

function completeFields(
  rules: TypeRules,
  schema: StructuralSchema,
  value: JsonObject,
  previous: unknown,
  exceptMetadata = false,
): JsonObject {
  const { properties, additionalProperties } = schema
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined
  const done = isJsonObject(previous) ? previous : nothing
  let result: Record<string, unknown> | undefined
  for (const field of Object.keys(value)) {
    const inner = value[field]
    if (inner === null || inner === done[field] || (exceptMetadata && field === 'metadata')) continue
    const known = properties?.[field] ?? others
    if (!known) continue
    const completed = completeValue(rules, known, inner, done[field])
    const goes = isNothing(known, completed) && !isShownEmpty(rules, schema, field)
    if (completed === inner && !goes) continue
    result ??= { ...value }
    if (goes) delete result[field]
    else result[field] = completed
  }
  for (const [field, given] of properties ? defaultsOf(properties) : []) {
    if ((result ?? value)[field] === undefined) (result ??= { ...value })[field] = given
  }
  return result ?? value
}

function completeItems(rules: TypeRules, schema: StructuralSchema, items: readonly unknown[]): readonly unknown[] {
  let result: unknown[] | undefined
  for (const [index, item] of items.entries()) {
    const completed = completeValue(rules, schema, item)
    if (completed !== item) (result ??= [...items])[index] = completed
  }
  return result ?? items
}

const nothing: JsonObject = {}
const knownDefaults = new WeakMap<object, ReadonlyArray<readonly [string, unknown]>>()

/** Determined once per schema: most fields have none, and objects come often. */
function defaultsOf(properties: Readonly<Record<string, StructuralSchema>>): ReadonlyArray<readonly [string, unknown]> {
  let defaults = knownDefaults.get(properties)
  if (!defaults) {
    defaults = Object.entries(properties).flatMap(([field, { default: given }]) =>
      given === undefined ? [] : [[field, given] as const],
    )
    knownDefaults.set(properties, defaults)
  }
  return defaults
}

/** Empty lists and maps are not shown; to Kubernetes they are the same as none. Raw JSON stays as it is. */
function isNothing(schema: StructuralSchema, value: unknown): boolean {
  if (Array.isArray(value)) return schema.type === 'array' && value.length === 0
  return schema.additionalProperties !== undefined && isJsonObject(value) && Object.keys(value).length === 0
}

/** Required fields are shown even when empty, and those that the rules of their type name. */
function isShownEmpty(rules: TypeRules, schema: StructuralSchema, field: string): boolean {
  if (schema.required?.includes(field) === true) return true
  return rules[schema['x-sluice-type-name'] ?? '']?.shownEmpty?.includes(field) === true
}

function quantityText(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value
  return canonicalQuantity(String(value)) ?? value
}

const wholeSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

function timeText(value: string, digits: number | undefined): string {
  if (digits === undefined || (digits === 0 && wholeSeconds.test(value))) return value
  const at = new Date(value)
  if (Number.isNaN(at.getTime())) return value
  const fraction = (/\.(\d+)/.exec(value)?.[1] ?? '').padEnd(6, '0').slice(0, 6)
  return at.toISOString().replace(/\.\d+Z$/, digits === 0 ? 'Z' : `.${fraction}Z`)
}
