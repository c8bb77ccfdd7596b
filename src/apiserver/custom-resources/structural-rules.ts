import { type FieldError, forbidden, invalid, required, unsupported } from '../../resources/field-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { applyDefaults } from '../structural/apply-defaults.ts'
import { ErrorList } from '../structural/error-list.ts'
import { prune } from '../structural/prune.ts'
import { validate } from '../structural/validate.ts'
import { checkListType, checkMapType } from './list-rules.ts'
import { PatternCheck } from './pattern-check.ts'

type Add = (...errors: readonly FieldError[]) => void

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const notSupported = ['$ref', 'definitions', 'dependencies', 'patternProperties', 'additionalItems', 'id', '$schema']
/** What alternatives must not say, since pruning and defaults do not look into them, and what to call that. */
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

/** What keeps a schema from being structural: a place of its own and a type for everything, so that it can be pruned and defaulted. */
export function checkStructural(schema: StructuralSchema, path: string): FieldError[] {
  const list = new ErrorList()
  const add: Add = (...found) => list.add(...found)
  if (schema.type === undefined) add(required(`${path}.type`, 'must not be empty at the root'))
  else if (schema.type !== 'object') add(invalid(`${path}.type`, schema.type, 'must be object at the root'))
  checkRootMetadata(schema, path, add)
  checkSchema(schema, path, add, new PatternCheck())
  if (list.all.length === 0) checkComplete(schema, path, add)
  // A default can only be judged by a schema that is itself sound.
  if (list.all.length === 0) checkDefaults(schema, path, add)
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

function checkSchema(schema: StructuralSchema, path: string, add: Add, patterns: PatternCheck): void {
  checkKeywords(schema, path, add, patterns)
  checkListType(schema, path, add)
  checkMapType(schema, path, add)
  const { properties = {}, additionalProperties, items } = schema
  if (schema.type === 'array' && items === undefined) add(required(`${path}.items`, 'must be specified'))
  if (Array.isArray(items)) add(forbidden(`${path}.items`, 'items must be a schema object and not an array'))
  else if (items) checkTyped(items, `${path}.items`, 'array items', add, patterns)
  if (typeof additionalProperties === 'object') {
    if (schema.properties) {
      const why = 'additionalProperties and properties are mutual exclusive'
      add(forbidden(`${path}.additionalProperties`, why))
    } else checkTyped(additionalProperties, `${path}.additionalProperties`, 'object fields', add, patterns)
  }
  for (const [field, inner] of Object.entries(properties)) {
    checkTyped(inner, `${path}.properties[${field}]`, 'object fields', add, patterns)
  }
  for (const [alternative, at] of alternativesOf(schema, path)) checkAlternative(schema, alternative, at, add)
}

function checkTyped(schema: StructuralSchema, path: string, what: string, add: Add, patterns: PatternCheck): void {
  const isFree = schema['x-kubernetes-int-or-string'] || schema['x-kubernetes-preserve-unknown-fields']
  if (schema.type === undefined && !isFree && !hasUnsupported(schema)) {
    add(required(`${path}.type`, `must not be empty for specified ${what}`))
  }
  checkSchema(schema, path, add, patterns)
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

function checkAlternative(outer: StructuralSchema, alternative: StructuralSchema, path: string, add: Add): void {
  for (const [keyword, must] of onlyOutside) {
    const value: unknown = Reflect.get(alternative, keyword)
    const isTypeOfEither = keyword === 'type' && outer['x-kubernetes-int-or-string'] === true
    if (value === undefined || value === false || value === '' || isTypeOfEither) continue
    add(forbidden(`${path}.${keyword}`, `must be ${must} to be structural`))
  }
  for (const [field, inner] of Object.entries(alternative.properties ?? {})) {
    checkAlternative(outer.properties?.[field] ?? {}, inner, `${path}.properties[${field}]`, add)
  }
  if (alternative.items) checkAlternative(outer.items ?? {}, alternative.items, `${path}.items`, add)
  for (const [inner, at] of alternativesOf(alternative, path)) checkAlternative(outer, inner, at, add)
}

/** What an alternative speaks of must be there outside of it, too. */
function checkComplete(schema: StructuralSchema, path: string, add: Add): void {
  for (const [alternative, at] of alternativesOf(schema, path)) checkCounterparts(schema, path, alternative, at, add)
  const { properties = {}, additionalProperties, items } = schema
  for (const [field, inner] of Object.entries(properties)) checkComplete(inner, `${path}.properties[${field}]`, add)
  if (typeof additionalProperties === 'object') checkComplete(additionalProperties, `${path}.additionalProperties`, add)
  if (items) checkComplete(items, `${path}.items`, add)
}

function checkCounterparts(
  outer: StructuralSchema,
  outerPath: string,
  alternative: StructuralSchema,
  path: string,
  add: Add,
): void {
  for (const [field, inner] of Object.entries(alternative.properties ?? {})) {
    const at = `${path}.properties[${field}]`
    const counterpart = outer.properties?.[field]
    const where = `${outerPath}.properties[${field}]`
    if (counterpart) checkCounterparts(counterpart, where, inner, at, add)
    else if (typeof outer.additionalProperties !== 'object') add(required(where, `because it is defined in ${at}`))
  }
  if (alternative.items) {
    const at = `${path}.items`
    if (outer.items) checkCounterparts(outer.items, `${outerPath}.items`, alternative.items, at, add)
    else add(required(`${outerPath}.items`, `because it is defined in ${at}`))
  }
  for (const [inner, at] of alternativesOf(alternative, path)) checkCounterparts(outer, outerPath, inner, at, add)
}

function checkDefaults(schema: StructuralSchema, path: string, add: Add): void {
  const { default: given, properties = {}, additionalProperties, items } = schema
  if (given !== undefined && given !== null) checkDefault(schema, given, `${path}.default`, add)
  for (const [field, inner] of Object.entries(properties)) checkDefaults(inner, `${path}.properties[${field}]`, add)
  if (typeof additionalProperties === 'object') checkDefaults(additionalProperties, `${path}.additionalProperties`, add)
  if (items) checkDefaults(items, `${path}.items`, add)
}

function checkDefault(schema: StructuralSchema, given: unknown, path: string, add: Add): void {
  let isPruned = false
  prune(schema, given, () => (isPruned = true))
  if (isPruned) add(invalid(path, given, 'must not have unknown fields'))
  const faults = validate(schema, applyDefaults(schema, given))
  add(...faults.map((fault) => ({ ...fault, field: fault.field === '' ? path : `${path}.${fault.field}` })))
}
