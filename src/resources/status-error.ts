import { type FieldError, mostFaults } from './field-error.ts'

export type StatusReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Expired'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'Invalid'
  | 'TooManyRequests'
  | 'InternalError'
  | 'NotImplemented'
  | 'ServiceUnavailable'
  | 'Timeout'

const codes: Record<StatusReason, number> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  NotImplemented: 501,
  ServiceUnavailable: 503,
  Timeout: 504,
}

export interface StatusDetails {
  readonly name?: string | undefined
  readonly group?: string | undefined
  /** The plural of the resource, as Kubernetes has it here. */
  readonly kind?: string | undefined
  readonly uid?: string | undefined
  readonly causes?: ReadonlyArray<{
    readonly reason?: string | undefined
    readonly message: string
    readonly field?: string | undefined
  }>
  readonly retryAfterSeconds?: number | undefined
}

/**
 * A refusal in Kubernetes' own terms. The API server renders it as a `Status`, and the Kubernetes client parses it from
 * one.
 */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly reason: StatusReason
  readonly code: number
  readonly details: StatusDetails

  constructor(
    reason: StatusReason,
    message: string,
    details: StatusDetails = {},
    options?: ErrorOptions & { code?: number },
  ) {
    super(message, options)
    this.reason = reason
    this.code = options?.code ?? codes[reason]
    this.details = details
  }

  /** As it is sent over the wire. */
  toStatus(): Record<string, unknown> {
    const details = Object.keys(this.details).length > 0 ? { details: this.details } : {}
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...details,
      code: this.code,
    }
  }
}

interface ResourceName {
  readonly group: string
  readonly plural: string
  readonly kind: string
}

function qualified(resource: Pick<ResourceName, 'group' | 'plural'>): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}

export function notFound(resource: ResourceName, name: string): StatusError {
  return new StatusError('NotFound', `${qualified(resource)} "${name}" not found`, {
    name,
    group: resource.group || undefined,
    kind: resource.plural,
  })
}

export function alreadyExists(resource: ResourceName, name: string): StatusError {
  const details = { name, group: resource.group || undefined, kind: resource.plural }
  return new StatusError('AlreadyExists', `${qualified(resource)} "${name}" already exists`, details)
}

export function conflict(
  resource: ResourceName,
  name: string,
  why = 'the object has been modified; please apply your changes to the latest version and try again',
): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`
  return new StatusError('Conflict', message, { name, group: resource.group || undefined, kind: resource.plural })
}

const longestRefusal = 64 * 1024
const longestPart = 16 * 1024

/** The first errors, as many as fit into an answer of reasonable size. */
function told(errors: readonly FieldError[]): FieldError[] {
  const some: FieldError[] = []
  let length = 0
  for (const { reason, field, message } of errors) {
    if (some.length >= mostFaults || length > longestRefusal) break
    const fault = { reason, field: brief(field), message: brief(message) }
    length += fault.field.length + fault.message.length
    some.push(fault)
  }
  return some
}

function brief(text: string): string {
  return text.length > longestPart ? `${text.slice(0, longestPart)}…` : text
}

/** 422 with one cause per field, in the sentence that kubectl prints. */
export function invalidObject(resource: ResourceName, fullName: string, all: readonly FieldError[]): StatusError {
  const name = brief(fullName)
  const errors = told(all)
  const lines = errors.map((error) => `${error.field}: ${error.message}`)
  const sentence = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  const kind = resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`
  return new StatusError('Invalid', `${kind} "${name}" is invalid: ${sentence}`, {
    name,
    group: resource.group || undefined,
    kind: resource.kind,
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  })
}

export function isStatusError(error: unknown, ...reasons: StatusReason[]): error is StatusError {
  return error instanceof StatusError && (reasons.length === 0 || reasons.includes(error.reason))
}
