import { briefJson } from '../../resources/brief-json.ts'
import { invalid, tooLong, typeInvalid, unsupported } from '../../resources/field-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { sameJson } from '../../resources/json-value.ts'
import { RegularExpression } from '../regular-expression/regular-expression.ts'
import type { ErrorList } from './error-list.ts'
import { hasFormat } from './formats.ts'
import type { Work } from './work.ts'

type Check = (value: unknown, path: string, errors: ErrorList, work: Work) => void

const compiled = new WeakMap<StructuralSchema, readonly Check[]>()

/** The checks a schema makes on a value itself, as a list built once: a schema has few of the many keywords. */
export function scalarChecksOf(schema: StructuralSchema): readonly Check[] {
  const known = compiled.get(schema)
  if (known) return known
  const checks = [checkType(schema), checkText(schema), checkNumber(schema), checkEnum(schema)].filter(
    (check) => check !== undefined,
  )
  compiled.set(schema, checks)
  return checks
}

function checkType(schema: StructuralSchema): Check | undefined {
  const allowed = schema['x-kubernetes-int-or-string'] ? ['integer', 'string'] : schema.type ? [schema.type] : []
  if (allowed.length === 0) return undefined
  const names = allowed.join(',')
  let check = typeChecks.get(names)
  if (!check) typeChecks.set(names, (check = newTypeCheck(allowed, names)))
  return check
}

/** Shared by all schemas, of which a definition may have very many, because there are few types. */
const typeChecks = new Map<string, Check>()

function newTypeCheck(allowed: readonly string[], names: string): Check {
  const types = new Set<string>(allowed)
  if (types.has('number')) types.add('integer')
  return (value, path, errors) => {
    const type = jsonType(value)
    if (types.has(type)) return
    errors.add(typeInvalid(path, type, `${path} in body must be of type ${names}: "${type}"`))
  }
}

function checkText(schema: StructuralSchema): Check | undefined {
  const { maxLength, minLength, pattern, format } = schema
  if (maxLength === undefined && minLength === undefined && pattern === undefined && format === undefined) {
    return undefined
  }
  const expression = pattern === undefined ? undefined : new RegularExpression(pattern)
  return (value, path, errors, work) => {
    if (typeof value !== 'string') return
    // Only the first of these is reported, as by the API server.
    if (maxLength !== undefined && longerThan(value, maxLength)) errors.add(tooLong(path, maxLength))
    else if (minLength !== undefined && !longerThan(value, minLength - 1)) {
      errors.add(invalid(path, value, `${path} in body should be at least ${minLength} chars long`))
    } else if (expression && !expression.test(value, work)) {
      errors.add(invalid(path, value, `${path} in body should match '${pattern}'`))
    }
    if (format !== undefined && !hasFormat(format, value)) {
      errors.add(typeInvalid(path, value, `${path} in body must be of type ${format}: ${briefJson(value, 4096)}`))
    }
  }
}

function checkNumber(schema: StructuralSchema): Check | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (minimum === undefined && maximum === undefined && multipleOf === undefined) return undefined
  return (value, path, errors) => {
    if (typeof value !== 'number') return
    const should = (what: string) => errors.add(invalid(path, value, `${path} in body should be ${what}`))
    if (multipleOf !== undefined && !isMultiple(value, multipleOf)) should(`a multiple of ${multipleOf}`)
    if (maximum !== undefined) {
      if (exclusiveMaximum ? value >= maximum : value > maximum) {
        should(`less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`)
      }
    }
    if (minimum !== undefined) {
      if (exclusiveMinimum ? value <= minimum : value < minimum) {
        should(`greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`)
      }
    }
  }
}

function checkEnum({ enum: allowed }: StructuralSchema): Check | undefined {
  if (!allowed || allowed.length === 0) return undefined
  const simple = new Set(allowed.filter((item) => typeof item !== 'object' || item === null))
  const others = allowed.filter((item) => typeof item === 'object' && item !== null)
  const names = allowed.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
  return (value, path, errors, work) => {
    if (simple.has(value)) return
    if (typeof value === 'object' && value !== null) {
      if (!work.take(others.length)) return
      if (others.some((item) => sameJson(item, value))) return
    }
    if (!errors.isFull) errors.add(unsupported(path, value, names))
  }
}

/** JSON's types, and `integer` for whole numbers. */
export function jsonType(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** In characters, not in UTF-16 units. */
function longerThan(text: string, most: number): boolean {
  if (text.length <= most) return false
  if (text.length > most * 2) return true
  let count = 0
  for (const _character of text) if (++count > most) return true
  return false
}

function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor
  return Math.abs(quotient - Math.round(quotient)) < 1e-9
}
