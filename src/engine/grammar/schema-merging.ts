import { isDeepStrictEqual } from 'node:util'
import { type Entries, isAnnotation, isEntries, refuseSchema } from './schema-entries.ts'

/** Definitions that are made of others, which are made of others. */
const deepestMerging = 16

/** Finds what a `$ref` refers to. */
export type Resolve = (reference: unknown) => Entries | undefined

const larger = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
const smaller = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])

/** One schema instead of those of `allOf`: what all of them ask for, together. */
export function mergeAll(schema: Entries, at: string, resolve: Resolve, depth = 0): Entries {
  const { allOf, ...own } = schema
  if (!Array.isArray(allOf) || allOf.length === 0) throw refuseSchema(at, 'allOf must be a list of schemas')
  if (depth > deepestMerging) throw refuseSchema(at, 'allOf is nested too deep, or contains itself')
  const restricts = Object.keys(own).some((key) => !isAnnotation(key))
  const [only] = allOf
  // The definition itself, so that it may contain itself.
  if (allOf.length === 1 && !restricts && isEntries(only)) return { ...only, ...own }
  const parts = allOf.map((part: unknown) => expanded(part, at, resolve, depth))
  return [...parts, own].reduce((merged, part) => merge(merged, part, at), {})
}

function expanded(part: unknown, at: string, resolve: Resolve, depth: number): Entries {
  if (!isEntries(part)) throw refuseSchema(at, 'allOf must be a list of schemas')
  if ('allOf' in part) return mergeAll(part, at, resolve, depth + 1)
  if (!('$ref' in part)) return part
  const { $ref, ...rest } = part
  const target = resolve($ref)
  if (!target || depth > deepestMerging) throw refuseSchema(at, 'allOf refers to what cannot be found in $defs')
  return merge(expanded(target, at, resolve, depth + 1), rest, at)
}

function merge(one: Entries, other: Entries, at: string): Entries {
  const merged: Entries = { ...one }
  for (const [key, value] of Object.entries(other)) {
    merged[key] = key in one ? both(key, one[key], value, at) : value
  }
  return merged
}

function both(key: string, one: unknown, other: unknown, at: string): unknown {
  if (isAnnotation(key)) return other
  if (isDeepStrictEqual(one, other)) return one
  if (typeof one === 'number' && typeof other === 'number') {
    if (larger.has(key)) return Math.max(one, other)
    if (smaller.has(key)) return Math.min(one, other)
  }
  if (key === 'properties' && isEntries(one) && isEntries(other)) return mergedProperties(one, other)
  if (key === 'required' && Array.isArray(one) && Array.isArray(other)) return [...new Set<unknown>([...one, ...other])]
  if (key === 'enum' && Array.isArray(one) && Array.isArray(other)) {
    return one.filter((value: unknown) => other.some((also: unknown) => isDeepStrictEqual(value, also)))
  }
  // Those who write it for each part mean all of them together.
  if (key === 'additionalProperties' && (one === false || other === false)) return false
  if (key === 'additionalProperties' && (one === true || other === true)) return one === true ? other : one
  if (key === 'type' && [one, other].includes('integer') && [one, other].includes('number')) return 'integer'
  throw refuseSchema(at, `the schemas of allOf disagree about ${key}`)
}

function mergedProperties(one: Entries, other: Entries): Entries {
  const merged: Entries = { ...one }
  for (const [name, schema] of Object.entries(other)) {
    merged[name] = Object.hasOwn(one, name) ? { allOf: [one[name], schema] } : schema
  }
  return merged
}
