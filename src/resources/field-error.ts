import type { z } from 'zod'
import { briefJson } from './brief-json.ts'

/** What is wrong with one field, in Kubernetes' words, so that kubectl prints what its users know. */
export interface FieldError {
  readonly reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueTypeInvalid'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueDuplicate'
    | 'FieldValueNotFound'
  /** `spec.url`, `spec.features[0]`. */
  readonly field: string
  readonly message: string
}

const words: Record<FieldError['reason'], string> = {
  FieldValueRequired: 'Required value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueNotFound: 'Not found',
}

/** Values are shown up to this length: a message must not grow with what it refuses. */
const longestValue = 4096

export function invalid(field: string, value: unknown, why: string): FieldError {
  return { reason: 'FieldValueInvalid', field, message: `${words.FieldValueInvalid}: ${shown(value)}: ${why}` }
}

export function typeInvalid(field: string, value: unknown, why: string): FieldError {
  return { reason: 'FieldValueTypeInvalid', field, message: `${words.FieldValueTypeInvalid}: ${shown(value)}: ${why}` }
}

export function duplicate(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueDuplicate', field, message: `${words.FieldValueDuplicate}: ${shown(value)}` }
}

export function tooLong(field: string, most: number): FieldError {
  const message = `${words.FieldValueTooLong}: may not be more than ${most} ${most === 1 ? 'byte' : 'bytes'}`
  return { reason: 'FieldValueTooLong', field, message }
}

export function tooMany(field: string, actual: number, most: number): FieldError {
  const message = `${words.FieldValueTooMany}: ${actual}: must have at most ${most} ${most === 1 ? 'item' : 'items'}`
  return { reason: 'FieldValueTooMany', field, message }
}

function shown(value: unknown): string {
  return briefJson(value ?? null, longestValue)
}

/** Nobody reads more errors than these. */
export const mostFaults = 100

/** The errors of each of many items, until there are enough: messages about an object must not grow with it. */
export function faultsOfEach<T>(
  items: Iterable<T>,
  check: (item: T, index: number) => readonly FieldError[],
): FieldError[] {
  const faults: FieldError[] = []
  let index = 0
  for (const item of items) {
    for (const fault of check(item, index)) faults.push(fault)
    if (faults.length >= mostFaults) break
    index += 1
  }
  return faults
}

export function required(field: string, why = ''): FieldError {
  return { reason: 'FieldValueRequired', field, message: words.FieldValueRequired + (why && `: ${why}`) }
}

export function forbidden(field: string, why: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: `${words.FieldValueForbidden}: ${why}` }
}

export function unsupported(field: string, value: unknown, allowed: readonly string[]): FieldError {
  const list = listed(allowed)
  const message = `${words.FieldValueNotSupported}: ${shown(value)}: supported values: ${list}`
  return { reason: 'FieldValueNotSupported', field, message }
}

function listed(allowed: readonly string[]): string {
  let list = ''
  for (const item of allowed) {
    if (list.length > longestValue) return `${list}, …`
    list += `${list === '' ? '' : ', '}${shown(item)}`
  }
  return list
}

/** A path as Kubernetes writes it: `spec.features[0]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((segment, index) => (typeof segment === 'number' ? `[${segment}]` : (index > 0 ? '.' : '') + String(segment)))
    .join('')
}

/** The errors of a schema as field errors. `input` is what was checked, to show the offending values. */
export function fieldErrorsOf(error: z.ZodError, input: unknown): FieldError[] {
  return error.issues.slice(0, mostFaults).map((issue) => {
    const field = fieldPath(issue.path)
    const value = valueAt(input, issue.path)
    if (value === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value')) return required(field)
    if (issue.code === 'invalid_value') return unsupported(field, value, issue.values.map(String))
    if (issue.code === 'invalid_type') {
      const message = `${words.FieldValueTypeInvalid}: ${shown(value)}: ${field} must be of type ${issue.expected}`
      return { reason: 'FieldValueTypeInvalid', field, message }
    }
    if (issue.code === 'too_big' && issue.origin === 'string') {
      const message = `${words.FieldValueTooLong}: may not be more than ${issue.maximum} bytes`
      return { reason: 'FieldValueTooLong', field, message }
    }
    if (issue.code === 'too_big' && issue.origin === 'array' && Array.isArray(value)) {
      const message = `${words.FieldValueTooMany}: ${value.length}: must have at most ${issue.maximum} items`
      return { reason: 'FieldValueTooMany', field, message }
    }
    return invalid(field, value, issue.message)
  })
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = input
  for (const segment of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, segment)
  }
  return value
}
