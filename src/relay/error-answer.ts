import { SluiceError } from '../foundation/errors.ts'
import { type Answer, ForwardError } from './exchange.ts'

/** The answer to what went wrong before or inside a handler. Nothing internal is told. */
export function errorAnswer(error: unknown): Answer {
  const known = coded(error)
  const retryAfter = known.details['retryAfterSeconds']
  const body = {
    error: {
      message: known.message,
      type: errorType(known.status),
      code: known.code,
      param: null,
    },
  }
  return {
    status: known.status,
    headers: [
      ['content-type', 'application/json'],
      ['connection', 'close'],
      ...(retryAfter === undefined ? [] : [['retry-after', String(retryAfter)] as const]),
    ],
    body: JSON.stringify(body),
  }
}

function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}

/** Whether the error says all there is to know, or the log should keep it. */
export function isExpected(error: unknown): boolean {
  return error instanceof SluiceError || error instanceof ForwardError
}

function coded(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error
  if (error instanceof ForwardError) return new SluiceError('bad_gateway', { reason: error.message })
  return new SluiceError('internal_error')
}
