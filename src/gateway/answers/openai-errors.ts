import { type ErrorCode, SluiceError } from '../../foundation/errors.ts'
import type { Answer, HeaderPairs } from '../../relay/exchange.ts'

/** OpenAI's error object. */
export interface OpenAiError {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly code: string
    readonly param: string | null
  }
}

const defaultRetryAfterSeconds = 5

/** Errors about one field of the request, with that field's name. */
const paramOf: Partial<Record<ErrorCode, string>> = {
  model_not_found: 'model',
  model_not_allowed: 'model',
  model_required: 'model',
}

/** Errors that an immediate retry would only repeat; OpenAI's clients obey `x-should-retry`. */
const notWorthRetrying: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['model_unavailable', 'wake_deadline'])

/** Other errors become `internal_error`: their details are for the log only. */
export function codedError(error: unknown): SluiceError {
  return error instanceof SluiceError ? error : new SluiceError('internal_error', {}, { cause: error })
}

export function openAiError(error: SluiceError): OpenAiError {
  const param = typeof error.details['param'] === 'string' ? error.details['param'] : (paramOf[error.code] ?? null)
  return { error: { message: error.message, type: errorType(error.status), code: error.code, param } }
}

export function errorAnswer(error: SluiceError, headers: HeaderPairs = []): Answer {
  return {
    status: error.status,
    headers: [...headers, ['content-type', 'application/json'], ...retryHeaders(error), ...ownHeader(error)],
    body: JSON.stringify(openAiError(error)),
  }
}

/** The error as an event, for a response that is already a stream. */
export function errorEvent(error: OpenAiError): string {
  return `data: ${JSON.stringify(error)}\n\n`
}

/** As at OpenAI, a refused key is an invalid request, too. */
export function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}

function retryHeaders(error: SluiceError): HeaderPairs {
  if (error.status !== 429 && error.status !== 503) return []
  const seconds = error.details['retryAfterSeconds'] ?? defaultRetryAfterSeconds
  const headers: Array<[string, string]> = [['retry-after', String(seconds)]]
  if (notWorthRetrying.has(error.code)) headers.push(['x-should-retry', 'false'])
  return headers
}

function ownHeader(error: SluiceError): HeaderPairs {
  if (error.code === 'method_not_allowed') return [['allow', String(error.details['allowed'])]]
  return error.status === 401 ? [['www-authenticate', 'Bearer']] : []
}
