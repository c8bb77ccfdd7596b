import type { GbnfJsonBasicSchema } from 'node-llama-cpp'
import { z } from 'zod'
import { SluiceError } from '../foundation/errors.ts'

/** Keywords that say something about a value to people, and nothing about which values are right. */
const annotations = new Set(
  'title description default example examples $schema $id $comment deprecated readOnly writeOnly strict'.split(' '),
)
const deepestNesting = 32
const formats = new Set(['date-time', 'time', 'date'])
const record = z.record(z.string(), z.unknown())
const converted = z.custom<GbnfJsonBasicSchema>((value) => typeof value === 'object')

type Entries = Record<string, unknown>

/**
 * The part of JSON Schema that a grammar can enforce, as the library wants it. A keyword that would not be honoured is refused
 * by name: an answer that only looks as if it followed its schema is worse than none.
 */
export function toGbnfSchema(schema: unknown, param: string): GbnfJsonBasicSchema {
  // Checked keyword by keyword below. Of the library's types for a schema the plainest stands for all of them.
  return converted.parse(convert(schema, param, 0))
}

function convert(schema: unknown, at: string, depth: number): Entries {
  if (depth > deepestNesting) throw refuse(at, `a schema nested deeper than ${deepestNesting} levels is not supported`)
  const parsed = record.safeParse(schema)
  if (!parsed.success) throw refuse(at, 'a schema must be an object')
  const { $defs, definitions, ...entries } = parsed.data
  const defs = $defs ?? definitions
  // Kept for the model to read, where the schema is shown to it.
  const description = typeof entries['description'] === 'string' ? { description: entries['description'] } : {}
  const own = { ...convertOne(entries, at, depth), ...description }
  return defs === undefined ? own : { ...own, $defs: mapRecord(defs, `${at}.$defs`, depth) }
}

function convertOne(entries: Entries, at: string, depth: number): Entries {
  if ('$ref' in entries) {
    only(entries, ['$ref'], at)
    const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(JSON.stringify(entries['$ref']).slice(1, -1))?.[1]
    if (name === undefined) throw refuse(at, '$ref must point into $defs of the same schema')
    return { $ref: `#/$defs/${name}` }
  }
  if ('const' in entries) {
    only(entries, ['const', 'type'], at)
    return { const: scalar(entries['const'], `${at}.const`) }
  }
  if ('enum' in entries) {
    only(entries, ['enum', 'type'], at)
    if (!Array.isArray(entries['enum']) || entries['enum'].length === 0)
      throw refuse(at, 'enum must be a list of values')
    return { enum: entries['enum'].map((value) => scalar(value, `${at}.enum`)) }
  }
  for (const choice of ['anyOf', 'oneOf'] as const) {
    if (!(choice in entries)) continue
    only(entries, [choice], at)
    return { oneOf: list(entries[choice], `${at}.${choice}`, depth) }
  }
  return typed(entries, at, depth)
}

function typed(entries: Entries, at: string, depth: number): Entries {
  const { type } = entries
  if (Array.isArray(type)) {
    const simple = type.filter((name) => name !== 'object' && name !== 'array')
    if (simple.length === type.length) {
      only(entries, ['type'], at)
      return { type }
    }
    return { oneOf: type.map((name) => typed({ ...entries, type: name }, at, depth)) }
  }
  switch (type) {
    case 'object':
      return object(entries, at, depth)
    case 'array':
      return array(entries, at, depth)
    case 'string': {
      only(entries, ['type', 'minLength', 'maxLength', 'format'], at)
      const { minLength, maxLength, format } = entries
      if (format !== undefined && !(typeof format === 'string' && formats.has(format))) {
        throw refuse(`${at}.format`, `the format ${JSON.stringify(format)} is not supported`)
      }
      return compact({ type, minLength, maxLength, format })
    }
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null':
      only(entries, ['type'], at)
      return { type }
    case undefined:
      if ('properties' in entries) return object(entries, at, depth)
      if ('items' in entries) return array(entries, at, depth)
      throw refuse(at, 'a schema without a type is not supported')
    default:
      throw refuse(at, `the type ${JSON.stringify(type)} is not known`)
  }
}

function object(entries: Entries, at: string, depth: number): Entries {
  only(entries, ['type', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'], at)
  const { properties, additionalProperties, minProperties, maxProperties } = entries
  const more =
    typeof additionalProperties === 'object' && additionalProperties !== null
      ? convert(additionalProperties, `${at}.additionalProperties`, depth + 1)
      : // Without properties of its own, an object that may have any is what was meant.
        (additionalProperties ?? (properties === undefined ? true : undefined))
  return compact({
    type: 'object',
    properties: properties === undefined ? undefined : mapRecord(properties, `${at}.properties`, depth),
    additionalProperties: more,
    minProperties,
    maxProperties,
  })
}

function array(entries: Entries, at: string, depth: number): Entries {
  only(entries, ['type', 'items', 'prefixItems', 'minItems', 'maxItems'], at)
  const { items, prefixItems, minItems, maxItems } = entries
  return compact({
    type: 'array',
    items: items === undefined ? undefined : convert(items, `${at}.items`, depth + 1),
    prefixItems: prefixItems === undefined ? undefined : list(prefixItems, `${at}.prefixItems`, depth),
    minItems,
    maxItems,
  })
}

function list(value: unknown, at: string, depth: number): Entries[] {
  if (!Array.isArray(value) || value.length === 0) throw refuse(at, 'must be a list of schemas')
  return value.map((item, index) => convert(item, `${at}[${index}]`, depth + 1))
}

function mapRecord(value: unknown, at: string, depth: number): Entries {
  const parsed = record.safeParse(value)
  if (!parsed.success) throw refuse(at, 'must be an object of schemas')
  return Object.fromEntries(
    Object.entries(parsed.data).map(([name, one]) => [name, convert(one, `${at}.${name}`, depth + 1)]),
  )
}

function scalar(value: unknown, at: string): unknown {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value
  throw refuse(at, 'only strings, numbers, booleans and null can be listed')
}

function only(entries: Entries, honoured: readonly string[], at: string): void {
  const other = Object.keys(entries).find((key) => !honoured.includes(key) && !annotations.has(key))
  if (other !== undefined) throw refuse(`${at}.${other}`, `the schema keyword ${other} is not supported`)
}

function compact(entries: Entries): Entries {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined))
}

function refuse(param: string, reason: string): SluiceError {
  return new SluiceError('unsupported_parameter', { param, reason })
}
