import { type FieldError, forbidden, invalid, required, unsupported } from '../../resources/field-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { applyDefaults } from '../structural/apply-defaults.ts'
import { ErrorList } from '../structural/error-list.ts'
import { prune } from '../structural/prune.ts'
import { validate } from '../structural/validate.ts'
import { Pace, type Phases } from '../writing/write-phases.ts'
import { checkListType, checkMapType } from './list-rules.ts'
import { PatternCheck } from './pattern-check.ts'

type Add = (...errors: readonly FieldError[]) => void

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const notSupported = ['$ref', 'definitions', 'dependencies', 'patternProperties', 'additionalItems', 'id', '$schema']
/**
 * What `allOf`, `anyOf`, `oneOf` and `not` must not contain, because pruning and defaulting do not look into them; and
 * what to call it in the error.
 */
const onlyOutside: ReadonlyArray<readonly [keyword: keyof StructuralSchema | 'title', must: string]> = [
  ['description', 'empty'],
  ['title', 'empty'],
  ['type', 'empty'],
  ['default', 'undefined'],
  ['additionalProperties', 'undefined'],
  ['nullable', 'false'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-validations', 'empty'],
]

/** What checking a schema carries along: where errors go, its patterns, and the pace of its phases. */
interface Judged {
  readonly add: Add
  readonly patterns: PatternCheck
  readonly pace: Pace
}

/**
 * Why a schema is not structural. Every value must have its own place and a type in it, so that objects can be pruned
 * and defaulted.
 */
export function* checkStructural(schema: StructuralSchema, path: string): Phases<FieldError[]> {
  const list = new ErrorList()
  const add: Add = (...found) => list.add(...found)
  const judged: Judged = { add, patterns: new PatternCheck(), pace: new Pace() }
  if (schema.type === undefined) add(required(`${path}.type`, 'must not be empty at the root'))
  else if (schema.type !== 'object') add(invalid(`${path}.type`, schema.type, 'must be object at the root'))
  checkRootMetadata(schema, path, add)
  yield* checkSchema(schema, path, judged)
  if (list.all.length === 0) yield* checkComplete(schema, path, judged)
  // A default can only be validated by a schema that is itself sound.
  if (list.all.length === 0) yield* checkDefaults(schema, path, judged)
  return [...list.all]
}

function checkRootMetadata({ properties = {} }: StructuralSchema, path: string, add: Add): void {
  const metadata = properties['metadata']
  if (!metadata) return
  const { type, properties: named = {}, description: _any, ...others } = metadata
  const allowed = Object.keys(named).every((field) => field === 'name' || field === 'generateName')
  if (allowed && type === 'object' && Object.keys(others).length === 0) return
  const why = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
  add(forbidden(`${path}.properties[metadata]`, why))
}

/**
 * Whether nothing is inside it. Nearly all schemas are such, and phases of their own would cost more than they are
 * worth.
 */
function isBare(schema: StructuralSchema): boolean {
  const { properties, additionalProperties, items, allOf, anyOf, oneOf, not } = schema
  return !properties && !additionalProperties && !items && !allOf && !anyOf && !oneOf && !not
}

function* checkSchema(schema: StructuralSchema, path: string, judged: Judged): Phases<void> {
  checkOwn(schema, path, judged)
  const { properties = {}, additionalProperties, items } = schema
  if (items && !Array.isArray(items)) yield* checkTyped(items, `${path}.items`, 'array items', judged)
  if (typeof additionalProperties === 'object' && !schema.properties) {
    yield* checkTyped(additionalProperties, `${path}.additionalProperties`, 'object fields', judged)
  }
  for (const [field, inner] of Object.entries(properties)) {
    const at = `${path}.properties[${field}]`
    if (judged.pace.isDue()) yield
    if (isBare(inner)) checkBare(inner, at, 'object fields', judged)
    else yield* checkTyped(inner, at, 'object fields', judged)
  }
  for (const [alternative, at] of alternativesOf(schema, path)) yield* checkAlternative(schema, alternative, at, judged)
}

function checkOwn(schema: StructuralSchema, path: string, { add, patterns }: Judged): void {
  checkKeywords(schema, path, add, patterns)
  checkListType(schema, path, add)
  checkMapType(schema, path, add)
  const { additionalProperties, items } = schema
  if (schema.type === 'array' && items === undefined) add(required(`${path}.items`, 'must be specified'))
  if (Array.isArray(items)) add(forbidden(`${path}.items`, 'items must be a schema object and not an array'))
  if (typeof additionalProperties === 'object' && schema.properties) {
    const why = 'additionalProperties and properties are mutual exclusive'
    add(forbidden(`${path}.additionalProperties`, why))
  }
}

function* checkTyped(schema: StructuralSchema, path: string, what: string, judged: Judged): Phases<void> {
  checkType(schema, path, what, judged)
  yield* checkSchema(schema, path, judged)
}

function checkBare(schema: StructuralSchema, path: string, what: string, judged: Judged): void {
  checkType(schema, path, what, judged)
  checkOwn(schema, path, judged)
}

function checkType(schema: StructuralSchema, path: string, what: string, { add }: Judged): void {
  const isFree = schema['x-kubernetes-int-or-string'] || schema['x-kubernetes-preserve-unknown-fields']
  if (schema.type === undefined && !isFree && !hasUnsupported(schema)) {
    add(required(`${path}.type`, `must not be empty for specified ${what}`))
  }
}

function hasUnsupported(schema: StructuralSchema): boolean {
  return notSupported.some((keyword) => Object.hasOwn(schema, keyword))
}

function checkKeywords(schema: StructuralSchema, path: string, add: Add, patterns: PatternCheck): void {
  const { type, pattern } = schema
  for (const keyword of notSupported) {
    if (Object.hasOwn(schema, keyword)) add(forbidden(`${path}.${keyword}`, `${keyword} is not supported`))
  }
  if (type !== undefined && !types.includes(type)) add(unsupported(`${path}.type`, type, types))
  if (schema.uniqueItems) {
    const why = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
    add(forbidden(`${path}.uniqueItems`, why))
  }
  if (pattern !== undefined) {
    const problem = patterns.problemWith(pattern)
    if (problem !== undefined) {
      add(invalid(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`))
    }
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    add(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'))
  }
  if (schema['x-kubernetes-embedded-resource']) {
    if (!schema.properties && !schema['x-kubernetes-preserve-unknown-fields']) {
      const why =
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields'
      add(required(`${path}.properties`, why))
    }
    if (type !== 'object') {
      add(invalid(`${path}.type`, type ?? '', 'must be object if x-kubernetes-embedded-resource is true'))
    }
  }
}

function alternativesOf(schema: StructuralSchema, path: string): Array<readonly [StructuralSchema, string]> {
  const lists = (['allOf', 'anyOf', 'oneOf'] as const).flatMap((keyword) =>
    (schema[keyword] ?? []).map((alternative, index) => [alternative, `${path}.${keyword}[${index}]`] as const),
  )
  return schema.not ? [...lists, [schema.not, `${path}.not`]] : lists
}

function* checkAlternative(
  outer: StructuralSchema,
  alternative: StructuralSchema,
  path: string,
  judged: Judged,
): Phases<void> {
  if (judged.pace.isDue()) yield
  checkOnlyOutside(outer, alternative, path, judged.add)
  if (isBare(alternative)) return
  for (const [field, inner] of Object.entries(alternative.properties ?? {})) {
    yield* checkAlternative(outer.properties?.[field] ?? {}, inner, `${path}.properties[${field}]`, judged)
  }
  if (alternative.items) yield* checkAlternative(outer.items ?? {}, alternative.items, `${path}.items`, judged)
  for (const [inner, at] of alternativesOf(alternative, path)) yield* checkAlternative(outer, inner, at, judged)
}

function checkOnlyOutside(outer: StructuralSchema, alternative: StructuralSchema, path: string, add: Add): void {
  for (const [keyword, must] of onlyOutside) {
    const value: unknown = Reflect.get(alternative, keyword)
    const isTypeOfEither = keyword === 'type' && outer['x-kubernetes-int-or-string'] === true
    if (value === undefined || value === false || value === '' || isTypeOfEither) continue
    add(forbidden(`${path}.${keyword}`, `must be ${must} to be structural`))
  }
}

/** What an alternative mentions must also exist outside of it. */
function* checkComplete(schema: StructuralSchema, path: string, judged: Judged): Phases<void> {
  for (const [alternative, at] of alternativesOf(schema, path)) {
    yield* checkCounterparts({ schema, path }, alternative, at, judged)
  }
  for (const [inner, at] of schemasIn(schema, path)) {
    if (judged.pace.isDue()) yield
    if (!isBare(inner)) yield* checkComplete(inner, at, judged)
  }
}

function* schemasIn(schema: StructuralSchema, path: string): Generator<readonly [StructuralSchema, string]> {
  const { properties = {}, additionalProperties, items } = schema
  for (const [field, inner] of Object.entries(properties)) yield [inner, `${path}.properties[${field}]`]
  if (typeof additionalProperties === 'object') yield [additionalProperties, `${path}.additionalProperties`]
  if (items) yield [items, `${path}.items`]
}

function* checkCounterparts(
  outer: { readonly schema: StructuralSchema; readonly path: string },
  alternative: StructuralSchema,
  path: string,
  judged: Judged,
): Phases<void> {
  if (judged.pace.isDue()) yield
  for (const [field, inner] of Object.entries(alternative.properties ?? {})) {
    const at = `${path}.properties[${field}]`
    const schema = outer.schema.properties?.[field]
    const where = `${outer.path}.properties[${field}]`
    if (schema) yield* checkCounterparts({ schema, path: where }, inner, at, judged)
    else if (typeof outer.schema.additionalProperties !== 'object') {
      judged.add(required(where, `because it is defined in ${at}`))
    }
  }
  if (alternative.items) {
    const at = `${path}.items`
    const where = `${outer.path}.items`
    const { items } = outer.schema
    if (items) yield* checkCounterparts({ schema: items, path: where }, alternative.items, at, judged)
    else judged.add(required(where, `because it is defined in ${at}`))
  }
  for (const [inner, at] of alternativesOf(alternative, path)) yield* checkCounterparts(outer, inner, at, judged)
}

function* checkDefaults(schema: StructuralSchema, path: string, judged: Judged): Phases<void> {
  const { default: given } = schema
  if (given !== undefined && given !== null) {
    yield* checkDefault(schema, given, `${path}.default`, judged)
  }
  for (const [inner, at] of schemasIn(schema, path)) {
    if (judged.pace.isDue()) yield
    if (!isBare(inner) || inner.default !== undefined) yield* checkDefaults(inner, at, judged)
  }
}

/** The default of an object may contain all the defaults below it, of which there may be very many. */
function* checkDefault(schema: StructuralSchema, given: unknown, path: string, { add }: Judged): Phases<void> {
  const isLarge = typeof given === 'object'
  if (isLarge) yield
  let isPruned = false
  prune(schema, given, () => (isPruned = true))
  if (isPruned) add(invalid(path, given, 'must not have unknown fields'))
  const whole = applyDefaults(schema, given)
  if (isLarge) yield
  const faults = validate(schema, whole)
  add(...faults.map((fault) => ({ ...fault, field: fault.field === '' ? path : `${path}.${fault.field}` })))
}
