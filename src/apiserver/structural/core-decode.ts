import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import { isDateTime } from './formats.ts'
import { fieldSchema } from './prune.ts'

/**
 * A value has another type than its field: for Kubernetes' own kinds this is refused before anything else is looked at.
 */
export class DecodingProblem extends Error {}

const wholeNumbers: Readonly<Record<string, readonly [least: number, most: number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
}
const quantityRule = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const quantity = /^[+-]?(\d+(?:\.\d*)?|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/

const nothing: JsonObject = {}

interface Where {
  /** The innermost type that has a name. */
  readonly owner: string
  /** Field names only, as in the decoder's messages; joined only for a refusal, which is rare. */
  readonly path: string[]
}

/**
 * Throws for the first value that does not have its field's type. Null fits every type. What is the very same object in
 * `checked` is skipped.
 */
export function checkTypes(schema: StructuralSchema, value: unknown, owner: string, checked?: unknown): void {
  checkValue(schema, value, { owner, path: [] }, checked)
}

function checkValue(schema: StructuralSchema, value: unknown, where: Where, checked?: unknown): void {
  if (value === null || value === undefined || value === checked) return
  const named = schema['x-sluice-type-name']
  if (schema['x-kubernetes-int-or-string']) return checkIntOrString(value, where)
  if (schema.format === 'quantity') return checkQuantity(value)
  if (Array.isArray(value)) {
    if (schema.type === 'array') for (const item of value) checkValue(schema.items ?? {}, item, where)
    else if (schema.type !== undefined) throw mismatch(value, schema, where)
    return
  }
  if (isJsonObject(value)) {
    if (schema.type !== undefined && schema.type !== 'object') throw mismatch(value, schema, where)
    checkFields(schema, value, named === undefined ? where : { owner: shortName(named), path: where.path }, checked)
    return
  }
  checkScalar(schema, value, where)
}

function checkFields(schema: StructuralSchema, value: JsonObject, where: Where, checked: unknown): void {
  const isMap = typeof schema.additionalProperties === 'object'
  const done = isJsonObject(checked) ? checked : nothing
  for (const field of Object.keys(value)) {
    const inner = value[field]
    if (inner === done[field]) continue
    const known = fieldSchema(schema, field)
    if (!known) continue
    if (!isMap) where.path.push(field)
    checkValue(known, inner, where, done[field])
    if (!isMap) where.path.pop()
  }
}

function checkScalar(schema: StructuralSchema, value: unknown, where: Where): void {
  switch (schema.type) {
    case undefined:
      return
    case 'string':
      if (typeof value !== 'string') throw mismatch(value, schema, where)
      return checkFormat(schema.format, value)
    case 'boolean':
    case 'number':
      if (typeof value !== schema.type) throw mismatch(value, schema, where)
      return
    case 'integer': {
      const [least, most] = wholeNumbers[schema.format ?? 'int64'] ?? [-Infinity, Infinity]
      if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
        throw mismatch(value, schema, where)
      }
      return
    }
    default:
      throw mismatch(value, schema, where)
  }
}

function checkFormat(format: string | undefined, value: string): void {
  if (format === 'date-time' && value !== '' && !isDateTime(value)) {
    const shown = JSON.stringify(value.slice(0, 253))
    throw new DecodingProblem(`parsing time ${shown} as "2006-01-02T15:04:05Z07:00": cannot parse ${shown} as "2006"`)
  }
  if (format === 'byte') {
    const at = badBase64(value)
    if (at >= 0) throw new DecodingProblem(`illegal base64 data at input byte ${at}`)
  }
}

/** The position at which a text is not base64; -1 when it is. */
function badBase64(value: string): number {
  const text = value.replaceAll(/[\r\n]/g, '')
  const at = /[^A-Za-z0-9+/]/.exec(text.replace(/={1,2}$/, ''))?.index
  if (at !== undefined) return at
  return text.length % 4 === 0 ? -1 : text.length - (text.length % 4)
}

function checkIntOrString(value: unknown, where: Where): void {
  if (typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))) return
  throw mismatch(value, { type: 'integer', format: 'int32' }, where)
}

function checkQuantity(value: unknown): void {
  if ((typeof value === 'string' || typeof value === 'number') && quantity.test(String(value))) return
  throw new DecodingProblem(quantityRule)
}

function mismatch(value: unknown, schema: StructuralSchema, { owner, path }: Where): DecodingProblem {
  const shown = typeof value === 'number' && goType(schema).startsWith('int') ? `number ${value}` : jsonName(value)
  const place = path.length === 0 ? 'Go value' : `Go struct field ${owner}.${path.join('.')}`
  return new DecodingProblem(`json: cannot unmarshal ${shown} into ${place} of type ${goType(schema)}`)
}

function jsonName(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

function goType(schema: StructuralSchema): string {
  const named = schema['x-sluice-type-name']
  if (named !== undefined) return named.split('.').slice(-2).join('.')
  switch (schema.type) {
    case 'array':
      return `[]${goType(schema.items ?? {})}`
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? `map[string]${goType(schema.additionalProperties)}`
        : 'object'
    case 'integer':
      return schema.format ?? 'int64'
    case 'number':
      return 'float64'
    case 'boolean':
      return 'bool'
    default:
      return schema.format === 'byte' ? '[]uint8' : 'string'
  }
}

function shortName(named: string): string {
  return named.slice(named.lastIndexOf('.') + 1)
}
