import { isDeepStrictEqual } from 'node:util'
import type { GbnfJsonBasicSchema } from 'node-llama-cpp'
import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { anyValueRule } from './json-object-grammar.ts'
import { numberKeywords, numberSchema, textKeywords, textRule } from './scalar-schemas.ts'
import { SchemaBudget } from './schema-budget.ts'
import { type Entries, isAnnotation, isEntries, refuseSchema } from './schema-entries.ts'
import { mergeAll } from './schema-merging.ts'
import { type ConvertedSchema, ruleOf } from './schema-parts.ts'

const deepestNesting = 32
/** Above this, llama.cpp either refuses the grammar or ignores the count. */
const mostRepetitions = 1000
const types = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'] as const
type TypeName = (typeof types)[number]
const objectKeywords = [
  'properties',
  'required',
  'additionalProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
]
const listKeywords = ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems']
const keywordsOf: Readonly<Record<TypeName, readonly string[]>> = {
  string: textKeywords,
  number: numberKeywords,
  integer: numberKeywords,
  boolean: [],
  null: [],
  object: objectKeywords,
  array: listKeywords,
}
const converted = z.custom<GbnfJsonBasicSchema>((value) => typeof value === 'object')
/** The name of the whole schema among the definitions, where it refers to itself. */
const wholeName = 'sluice-whole'

/**
 * Converts the part of JSON Schema that a grammar can enforce into the form that the library takes, with rules of our
 * own where the library has none. A keyword that would not be honoured is refused by name: an answer that only seems
 * to follow its schema is worse than none.
 */
export function toGbnfSchema(schema: unknown, param: string, budget = new SchemaBudget()): ConvertedSchema {
  const references = { toWhole: false }
  const whole = convert(schema, { at: param, depth: 0, budget, root: isEntries(schema) ? schema : {}, references })
  if (!references.toWhole) return whole
  const { $defs, ...own } = whole
  return { $ref: `#/$defs/${wholeName}`, $defs: { ...(isEntries($defs) ? $defs : {}), [wholeName]: own } }
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
  /** The schema that definitions are looked up in. */
  readonly root: Entries
  readonly references: { toWhole: boolean }
}

const inside = (place: Place, at: string): Place => ({ ...place, at: `${place.at}${at}` })
const below = (place: Place, at: string): Place => ({ ...inside(place, at), depth: place.depth + 1 })

function convert(schema: unknown, place: Place): Entries {
  const { at, depth, budget } = place
  budget.spend('schemas', 1, at)
  if (depth > deepestNesting) {
    throw refuseSchema(at, `a schema nested deeper than ${deepestNesting} levels is not supported`)
  }
  if (schema === true) return { rule: anyValueRule }
  if (!isEntries(schema)) throw refuseSchema(at, 'a schema must be an object')
  const { $defs, definitions, ...entries } = schema
  const defs = $defs ?? definitions
  // Kept for the model to read where the schema is shown to it.
  const description = typeof entries['description'] === 'string' ? { description: entries['description'] } : {}
  const own = { ...convertNullable(entries, place), ...description }
  return defs === undefined ? own : { ...own, $defs: mapRecord(defs, inside(place, '.$defs'), 'definitions') }
}

/** `nullable` is how OpenAPI says what JSON Schema says by a list of types. */
function convertNullable({ nullable, ...entries }: Entries, place: Place): Entries {
  const own = convertOne(
    'allOf' in entries ? mergeAll(entries, place.at, (ref) => definitionOf(ref, place)) : entries,
    place,
  )
  return nullable === true ? { oneOf: [own, { type: 'null' }] } : own
}

function convertOne(entries: Entries, place: Place): Entries {
  const { at } = place
  if ('$ref' in entries) {
    only(entries, ['$ref'], at)
    return reference(entries['$ref'], place)
  }
  if ('const' in entries) {
    only(entries, ['const', 'type'], at)
    return { const: listed(entries['const'], inside(place, '.const')) }
  }
  if ('enum' in entries) {
    only(entries, ['enum', 'type'], at)
    if (!Array.isArray(entries['enum']) || entries['enum'].length === 0)
      throw refuseSchema(at, 'enum must be a list of values')
    place.budget.spend('enum values', entries['enum'].length, `${at}.enum`)
    return { enum: entries['enum'].map((value) => listed(value, inside(place, '.enum'))) }
  }
  for (const choice of ['anyOf', 'oneOf'] as const) {
    if (!(choice in entries)) continue
    only(entries, [choice, 'type'], at)
    return { oneOf: alternatives(entries[choice], inside(place, `.${choice}`)) }
  }
  return typed(entries, place)
}

function reference($ref: unknown, place: Place): Entries {
  if ($ref === '#') {
    place.references.toWhole = true
    return { $ref: `#/$defs/${wholeName}` }
  }
  const name = definitionName($ref)
  if (name === undefined) throw refuseSchema(place.at, '$ref must point into $defs of the same schema')
  return { $ref: `#/$defs/${name}` }
}

function definitionName($ref: unknown): string | undefined {
  const name = typeof $ref === 'string' ? /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec($ref)?.[1] : undefined
  if (name === undefined) return undefined
  try {
    return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}

function definitionOf($ref: unknown, { root }: Place): Entries | undefined {
  const name = definitionName($ref)
  const defs = root['$defs'] ?? root['definitions']
  const found = name !== undefined && isEntries(defs) && Object.hasOwn(defs, name) ? defs[name] : undefined
  return isEntries(found) ? found : undefined
}

function typed(entries: Entries, place: Place): Entries {
  const { at } = place
  const { type = impliedType(entries) } = entries
  if (type === undefined) {
    only(entries, [], at)
    return { rule: anyValueRule }
  }
  if (!Array.isArray(type)) return ofType(typeName(type, at), entries, place)
  if (type.length === 0 || type.length > types.length) throw refuseSchema(at, 'type must name one to seven types')
  const names = type.map((name: unknown) => typeName(name, at))
  only(entries, ['type', ...names.flatMap((name) => keywordsOf[name])], at)
  const isPlain = names.every((name) => name !== 'object' && name !== 'array')
  if (isPlain && Object.keys(entries).every((key) => key === 'type' || isAnnotation(key))) return { type: names }
  return { oneOf: names.map((name) => ofType(name, keywordsFor(name, entries), place)) }
}

function typeName(type: unknown, at: string): TypeName {
  const known = types.find((name) => name === type)
  if (!known) throw refuseSchema(at, `the type ${JSON.stringify(type)} is not known`)
  return known
}

/** The keywords that say something about values of this type; of others they say nothing. */
function keywordsFor(type: TypeName, entries: Entries): Entries {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => keywordsOf[type].includes(key)))
}

function impliedType(entries: Entries): TypeName | undefined {
  const implied = (['object', 'array', 'string', 'number'] as const).find((type) =>
    keywordsOf[type].some((key) => key !== 'format' && key in entries),
  )
  return implied ?? ('format' in entries ? 'string' : undefined)
}

function ofType(type: TypeName, entries: Entries, place: Place): Entries {
  only(entries, ['type', ...keywordsOf[type]], place.at)
  switch (type) {
    case 'object':
      return object(entries, place)
    case 'array':
      return array(entries, place)
    case 'string':
      return text(entries, place)
    case 'number':
    case 'integer':
      return counted(numberSchema(type, entries, place.at), place)
    case 'boolean':
    case 'null':
      return { type }
    default:
      return type satisfies never
  }
}

function text(entries: Entries, place: Place): Entries {
  const { minLength, maxLength, pattern } = entries
  if (typeof pattern === 'string') place.budget.spend('characters', pattern.length, place.at)
  const rule = textRule(entries, place.at)
  if (rule) return counted({ type: 'string', rule }, place)
  repeats(place, { minLength, maxLength })
  return compact({ type: 'string', minLength, maxLength })
}

function counted(schema: Entries, { at, budget }: Place): Entries {
  const rule = ruleOf(schema)
  if (rule) budget.spendRule(rule, at)
  return schema
}

function object(entries: Entries, place: Place): Entries {
  const { properties, additionalProperties, propertyNames, minProperties, maxProperties } = entries
  // Every name is a text; more than that cannot be asked of one.
  if (propertyNames !== undefined && !isDeepStrictEqual(propertyNames, { type: 'string' })) {
    throw refuseSchema(`${place.at}.propertyNames`, 'it can only be {"type":"string"}')
  }
  const more = isEntries(additionalProperties)
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
  const { minItems, maxItems } = entries
  // Older schemas write the first items, and those after them, in this way.
  const isOlder = Array.isArray(entries['items'])
  const prefixItems = isOlder ? entries['items'] : entries['prefixItems']
  const items = isOlder ? entries['additionalItems'] : entries['items']
  repeats(place, { minItems, maxItems })
  return compact({
    type: 'array',
    items: items === undefined || items === false ? undefined : convert(items, below(place, '.items')),
    prefixItems: prefixItems === undefined ? undefined : list(prefixItems, inside(place, '.prefixItems')),
    minItems,
    maxItems,
  })
}

function list(value: unknown, place: Place): Entries[] {
  if (!Array.isArray(value) || value.length === 0) throw refuseSchema(place.at, 'must be a list of schemas')
  return value.map((item, index) => convert(item, below(place, `[${index}]`)))
}

/** One that a grammar cannot tell is left out, as long as there are others: what these allow is allowed, too. */
function alternatives(value: unknown, place: Place): Entries[] {
  if (!Array.isArray(value) || value.length === 0) throw refuseSchema(place.at, 'must be a list of schemas')
  const refusals: unknown[] = []
  const possible = value.flatMap((item, index): Entries[] => {
    try {
      return [convert(item, below(place, `[${index}]`))]
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== 'unsupported_parameter') throw error
      refusals.push(error)
      return []
    }
  })
  if (possible.length === 0) throw refusals[0]
  return possible
}

function mapRecord(value: unknown, place: Place, what: 'properties' | 'definitions'): Entries {
  if (!isEntries(value)) throw refuseSchema(place.at, 'must be an object of schemas')
  const entries = Object.entries(value)
  place.budget.spend(what, entries.length, place.at)
  return Object.fromEntries(
    entries.map(([name, one]) => {
      place.budget.spend('characters', name.length, place.at)
      return [name, convert(one, below(place, `.${name}`))]
    }),
  )
}

function listed(value: unknown, { at, budget }: Place): unknown {
  budget.spend('characters', typeof value === 'string' ? value.length : (JSON.stringify(value)?.length ?? 1), at)
  return value
}

/** Counts repetitions against the budget, because a grammar writes out every one of them. */
function repeats({ at, budget }: Place, counts: Entries): void {
  for (const [keyword, count] of Object.entries(counts)) {
    if (count === undefined) continue
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) {
      throw refuseSchema(`${at}.${keyword}`, 'it must be a whole number, at least 0')
    }
    if (count > mostRepetitions) {
      throw refuseSchema(`${at}.${keyword}`, `the largest count is ${mostRepetitions}; leave it out, or lower it`)
    }
    budget.spend('repetitions', count, `${at}.${keyword}`)
  }
}

function only(entries: Entries, honoured: readonly string[], at: string): void {
  const other = Object.keys(entries).find((key) => !honoured.includes(key) && !isAnnotation(key))
  if (other !== undefined) throw refuseSchema(`${at}.${other}`, `the schema keyword ${other} is not supported`)
}

function compact(entries: Entries): Entries {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined))
}
