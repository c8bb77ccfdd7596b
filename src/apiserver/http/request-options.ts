import { forbidden, required } from '../../resources/field-error.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { User } from '../access/identity/user.ts'
import type { WriteOptions } from '../cluster-api.ts'
import type { DeletionOptions } from '../writing/deletion.ts'
import type { HttpExchange } from './http-exchange.ts'
import { isJsonObject, valueAtPath } from '../../resources/json-value.ts'
import type { FieldValidation } from '../writing/object-decode.ts'
import { checkManagerName, managerName, refuseOptions } from '../server-side-apply/managers/manager-name.ts'

/** What a request says about the write and its writer. */
export interface WriteRequest {
  readonly exchange: Pick<HttpExchange, 'request' | 'warn' | 'body' | 'ticket' | 'audited'>
  readonly query: URLSearchParams
  readonly user: User
}

export const applyPatchType = 'application/apply-patch+yaml'

/** The options of a write. As in Kubernetes, unknown fields cause warnings by default. */
export function readWriteOptions(request: WriteRequest): WriteOptions & { readonly manager: string } {
  const { query, user, exchange } = request
  return {
    dryRun: readDryRun(query.getAll('dryRun')),
    fieldValidation: readFieldValidation(query),
    manager: readManager(request),
    warn: (warning) => exchange.warn(warning),
    annotate: (key, value) => exchange.audited?.annotate(key, value),
    duplicates: () => exchange.body.duplicateFields(),
    user,
    turns: exchange.ticket,
  }
}

const optionsOf = { POST: 'CreateOptions', PUT: 'UpdateOptions', PATCH: 'PatchOptions' } as const

function readManager({ query, exchange }: WriteRequest): string {
  const { body, request } = exchange
  const { method, headers } = request
  const manager = query.get('fieldManager') ?? ''
  const applies = method === 'PATCH' && body.mediaType === applyPatchType
  const errors = checkManagerName(manager)
  if (applies && manager === '') errors.push(required('fieldManager', 'is required for apply patch'))
  if (method === 'PATCH' && !applies && query.has('force')) {
    errors.push(forbidden('force', 'may not be specified for non-apply patch'))
  }
  if (method === 'POST' || method === 'PUT' || method === 'PATCH') refuseOptions(optionsOf[method], errors)
  return managerName(manager, headers['user-agent'] ?? '')
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

/** The `DeleteOptions` of the body, or else of the query. */
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
  if (policy !== undefined && policy !== null && orphan !== undefined && orphan !== null) {
    const why = 'orphanDependents and deletionPropagation cannot be both set'
    throw new StatusError('Invalid', `propagationPolicy: Invalid value: ${JSON.stringify(policy)}: ${why}`)
  }
  if (policy === undefined || policy === null) return orphan === true || orphan === 'true' ? 'Orphan' : undefined
  if (policy === 'Foreground' || policy === 'Background' || policy === 'Orphan') return policy
  const why = 'propagationPolicy: Unsupported value: supported values: "Background", "Foreground", "Orphan"'
  throw new StatusError('Invalid', why)
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A whole number from the query or a body, within bounds. */
export function readSeconds(name: string, value: unknown): number | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const seconds = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= 2 ** 31) return seconds
  throw new StatusError('BadRequest', `${name} must be a whole number of at least 0`)
}

/**
 * Checks `resourceVersionMatch`: a list needs a version with it, a watch `sendInitialEvents`, and nothing else may have
 * it.
 */
export function checkVersionMatch(query: URLSearchParams, watching: boolean): void {
  const match = query.get('resourceVersionMatch') ?? ''
  const why = versionMatchFault(match, query, watching)
  if (why !== undefined) throw new StatusError('Invalid', `resourceVersionMatch: ${why}`)
}

function versionMatchFault(match: string, query: URLSearchParams, watching: boolean): string | undefined {
  const initial = query.has('sendInitialEvents')
  if (!watching) {
    if (initial) return 'Forbidden: sendInitialEvents is forbidden for list'
    if (match === '') return undefined
    if (match !== 'Exact' && match !== 'NotOlderThan') return `Unsupported value: ${JSON.stringify(match.slice(0, 64))}`
    const version = query.get('resourceVersion') ?? ''
    if (version === '') return 'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided'
    const impossible = match === 'Exact' && version === '0'
    return impossible ? 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"' : undefined
  }
  if (!initial)
    return match === ''
      ? undefined
      : 'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'
  return match === 'NotOlderThan'
    ? undefined
    : 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'
}

/** Reads flags of logs and streams as Kubernetes does: everything but a clear no is a yes. */
export function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value !== null && value.toLowerCase() !== 'false' && value !== '0'
}

export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value === 'true' || value === '1' || value === ''
}
