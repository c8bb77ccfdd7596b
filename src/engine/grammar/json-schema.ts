import type { GbnfJsonBasicSchema } from 'node-llama-cpp'
import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { SchemaBudget } from './schema-budget.ts'
import type { ConvertedSchema } from './schema-parts.ts'

/** Keywords that describe a value to people and do not restrict it. */
const annotations = new Set(
  'title description default example examples $schema $id $comment deprecated readOnly writeOnly strict'.split(' '),
)
const deepestNesting = 32
/** Above this, llama.cpp either refuses the grammar or ignores the count. */
const mostRepetitions = 1000
/** The number of types there are: string, number, integer, boolean, null, object and array. */
const simpleTypes = 7
const formats = new Set(['date-time', 'time', 'date'])
const converted = z.custom<GbnfJsonBasicSchema>((value) => typeof value === 'object')

type Entries = Record<string, unknown>

/**
 * Converts the part of JSON Schema that a grammar can enforce into the form that the library takes. A keyword that
 * would not be honoured is refused by name: an answer that only seems to follow its schema is worse than none.
 */
export function toGbnfSchema(schema: unknown, param: string, budget = new SchemaBudget()): ConvertedSchema {
  return convert(schema, { at: param, depth: 0, budget })
}

/**
 * A converted schema in the library's type. Every keyword has been checked before, so the plainest of the library's
 * schema types stands for all of them.
 */
export function gbnfSchema(schema: ConvertedSchema): GbnfJsonBasicSchema {
  return converted.parse(schema)
}

/** A position in the schema, and the budget that is left for the rest of it. */
interface Place {
  readonly at: string
  readonly depth: number
  readonly budget: SchemaBudget
}

const inside = (place: Place, at: string): Place => ({ ...place, at: `${place.at}${at}` })
const below = (place: Place, at: string): Place => ({ ...inside(place, at), depth: place.depth + 1 })

function convert(schema: unknown, place: Place): Entries {
  const { at, depth, budget } = place
  budget.spend('schemas', 1, at)
  if (depth > deepestNesting) throw refuse(at, `a schema nested deeper than ${deepestNesting} levels is not supported`)
  if (!isRecord(schema)) throw refuse(at, 'a schema must be an object')
  const { $defs, definitions, ...entries } = schema
  const defs = $defs ?? definitions
  // Kept for the model to read where the schema is shown to it.
  const description = typeof entries['description'] === 'string' ? { description: entries['description'] } : {}
  const own = { ...convertOne(entries, place), ...description }
  return defs === undefined ? own : { ...own, $defs: mapRecord(defs, inside(place, '.$defs'), 'definitions') }
}

function convertOne(entries: Entries, place: Place): Entries {
  const { at } = place
  if ('$ref' in entries) {
    only(entries, ['$ref'], at)
    const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(JSON.stringify(entries['$ref']).slice(1, -1))?.[1]
    if (name === undefined) throw refuse(at, '$ref must point into $defs of the same schema')
    return { $ref: `#/$defs/${name}` }
  }
  if ('const' in entries) {
    only(entries, ['const', 'type'], at)
    return { const: scalar(entries['const'], inside(place, '.const')) }
  }
  if ('enum' in entries) {
    only(entries, ['enum', 'type'], at)
    if (!Array.isArray(entries['enum']) || entries['enum'].length === 0)
      throw refuse(at, 'enum must be a list of values')
    place.budget.spend('enum values', entries['enum'].length, `${at}.enum`)
    return { enum: entries['enum'].map((value) => scalar(value, inside(place, '.enum'))) }
  }
  for (const choice of ['anyOf', 'oneOf'] as const) {
    if (!(choice in entries)) continue
    only(entries, [choice], at)
    return { oneOf: list(entries[choice], inside(place, `.${choice}`)) }
  }
  return typed(entries, place)
}

function typed(entries: Entries, place: Place): Entries {
  const { at } = place
  const { type } = entries
  if (Array.isArray(type)) {
    const simple = type.filter((name) => name !== 'object' && name !== 'array')
    if (simple.length === type.length) {
      only(entries, ['type'], at)
      return { type }
    }
    if (type.length > simpleTypes) throw refuse(at, 'type names more types than there are')
    return { oneOf: type.map((name) => typed({ ...entries, type: name }, place)) }
  }
  switch (type) {
    case 'object':
      return object(entries, place)
    case 'array':
      return array(entries, place)
    case 'string': {
      only(entries, ['type', 'minLength', 'maxLength', 'format'], at)
      const { minLength, maxLength, format } = entries
      if (format !== undefined && !(typeof format === 'string' && formats.has(format))) {
        throw refuse(`${at}.format`, `the format ${JSON.stringify(format)} is not supported`)
      }
      repeats(place, { minLength, maxLength })
      return compact({ type, minLength, maxLength, format })
    }
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null':
      only(entries, ['type'], at)
      return { type }
    case undefined:
      if ('properties' in entries) return object(entries, place)
      if ('items' in entries) return array(entries, place)
      throw refuse(at, 'a schema without a type is not supported')
    default:
      throw refuse(at, `the type ${JSON.stringify(type)} is not known`)
  }
}

function object(entries: Entries, place: Place): Entries {
  const { at } = place
  only(entries, ['type', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'], at)
  const { properties, additionalProperties, minProperties, maxProperties } = entries
  const more =
    typeof additionalProperties === 'object' && additionalProperties !== null
      ? convert(additionalProperties, below(place, '.additionalProperties'))
      : // A schema that names no properties means an object that may have any.
        (additionalProperties ?? (properties === undefined ? true : undefined))
  repeats(place, { minProperties, maxProperties })
  return compact({
    type: 'object',
    properties:
      properties === undefined ? undefined : mapRecord(properties, inside(place, '.properties'), 'properties'),
    additionalProperties: more,
    minProperties,
    maxProperties,
  })
}

function array(entries: Entries, place: Place): Entries {
  only(entries, ['type', 'items', 'prefixItems', 'minItems', 'maxItems'], place.at)
  const { items, prefixItems, minItems, maxItems } = entries
  repeats(place, { minItems, maxItems })
  return compact({
    type: 'array',
    items: items === undefined ? undefined : convert(items, below(place, '.items')),
    prefixItems: prefixItems === undefined ? undefined : list(prefixItems, inside(place, '.prefixItems')),
    minItems,
    maxItems,
  })
}

function list(value: unknown, place: Place): Entries[] {
  if (!Array.isArray(value) || value.length === 0) throw refuse(place.at, 'must be a list of schemas')
  return value.map((item, index) => convert(item, below(place, `[${index}]`)))
}

function mapRecord(value: unknown, place: Place, counted: 'properties' | 'definitions'): Entries {
  if (!isRecord(value)) throw refuse(place.at, 'must be an object of schemas')
  const entries = Object.entries(value)
  place.budget.spend(counted, entries.length, place.at)
  return Object.fromEntries(
    entries.map(([name, one]) => {
      place.budget.spend('characters', name.length, place.at)
      return [name, convert(one, below(place, `.${name}`))]
    }),
  )
}

function isRecord(value: unknown): value is Entries {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function scalar(value: unknown, { at, budget }: Place): unknown {
  if (value !== null && !['string', 'number', 'boolean'].includes(typeof value)) {
    throw refuse(at, 'only strings, numbers, booleans and null can be listed')
  }
  budget.spend('characters', typeof value === 'string' ? value.length : 1, at)
  return value
}

/** Counts repetitions against the budget, because a grammar writes out every one of them. */
function repeats({ at, budget }: Place, counts: Entries): void {
  for (const [keyword, count] of Object.entries(counts)) {
    if (count === undefined) continue
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) {
      throw refuse(`${at}.${keyword}`, 'it must be a whole number, at least 0')
    }
    if (count > mostRepetitions) {
      throw refuse(`${at}.${keyword}`, `the largest count is ${mostRepetitions}; leave it out, or lower it`)
    }
    budget.spend('repetitions', count, `${at}.${keyword}`)
  }
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
