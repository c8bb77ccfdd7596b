import { StatusError } from '../resources/status-error.ts'
import type { WriteOptions } from './cluster-api.ts'
import type { DeletionOptions } from './deletion.ts'
import { isJsonObject, valueAtPath } from './json-value.ts'
import type { FieldValidation } from './object-decode.ts'

/** How a write is meant: `dryRun` and `fieldValidation`. Without a word, unknown fields are warned of, as with Kubernetes. */
export function readWriteOptions(query: URLSearchParams, warn: (warning: string) => void): WriteOptions {
  return { dryRun: readDryRun(query.getAll('dryRun')), fieldValidation: readFieldValidation(query), warn }
}

function readDryRun(values: readonly unknown[]): boolean {
  if (values.length === 0) return false
  if (values.every((value) => value === 'All')) return true
  throw new StatusError('Invalid', 'dryRun: Unsupported value: supported values: "All"')
}

function readFieldValidation(query: URLSearchParams): FieldValidation {
  const value = query.get('fieldValidation') ?? ''
  if (value === '') return 'Warn'
  if (value === 'Ignore' || value === 'Warn' || value === 'Strict') return value
  throw new StatusError('Invalid', 'fieldValidation: Unsupported value: supported values: "Ignore", "Strict", "Warn"')
}

/** `DeleteOptions` of the body, else of the query. */
export function readDeletion(query: URLSearchParams, body: unknown): DeletionOptions & { readonly dryRun: boolean } {
  const field = (name: string): unknown => (isJsonObject(body) ? body[name] : undefined) ?? query.get(name) ?? undefined
  const dryRun = isJsonObject(body) && Array.isArray(body['dryRun']) ? body['dryRun'] : query.getAll('dryRun')
  return {
    graceSeconds: readSeconds('gracePeriodSeconds', field('gracePeriodSeconds')),
    uid: optionalText(valueAtPath(body, ['preconditions', 'uid'])),
    resourceVersion: optionalText(valueAtPath(body, ['preconditions', 'resourceVersion'])),
    propagation: readPropagation(field('propagationPolicy'), field('orphanDependents')),
    dryRun: readDryRun(dryRun),
  }
}

function readPropagation(policy: unknown, orphan: unknown): DeletionOptions['propagation'] {
  if (policy === undefined || policy === null) return orphan === true || orphan === 'true' ? 'Orphan' : undefined
  if (policy === 'Foreground' || policy === 'Background' || policy === 'Orphan') return policy
  const why = 'propagationPolicy: Unsupported value: supported values: "Background", "Foreground", "Orphan"'
  throw new StatusError('Invalid', why)
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A whole number of the query or a body, within bounds. */
export function readSeconds(name: string, value: unknown): number | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const seconds = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= 2 ** 31) return seconds
  throw new StatusError('BadRequest', `${name} must be a whole number of at least 0`)
}

export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value === 'true' || value === '1' || value === ''
}
