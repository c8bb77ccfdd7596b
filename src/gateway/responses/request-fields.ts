import { SluiceError } from '../../foundation/errors.ts'

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of an object's own field; clients send null for "not set". */
export function fieldOf(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined
}

export function invalidField(param: string, problem: string): SluiceError {
  return new SluiceError('invalid_request', { reason: `${param} ${problem}.`, param })
}

export function unsupportedField(param: string, reason: string): SluiceError {
  return new SluiceError('unsupported_parameter', { param, reason })
}

export function requiredText(fields: Fields, name: string, param: string): string {
  const value = fieldOf(fields, name)
  if (typeof value !== 'string') throw invalidField(`${param}.${name}`, 'must be a string')
  return value
}

/** What of an object is set, for objects that are passed on. */
export function setFields(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
