import type { SluiceError } from '../../foundation/errors.ts'
import type { Answer } from '../../relay/exchange.ts'

const defaultRetryAfterSeconds = 5

/** The edge's own errors are JSON in a form that the Services behind it are unlikely to use. */
export function edgeErrorAnswer(error: SluiceError): Answer {
  const retryAfter = error.details['retryAfterSeconds'] ?? (error.status === 503 ? defaultRetryAfterSeconds : undefined)
  return {
    status: error.status,
    headers: [
      ['content-type', 'application/json'],
      ['cache-control', 'no-store'],
      ...(retryAfter === undefined ? [] : ([['retry-after', String(retryAfter)]] as const)),
    ],
    body: JSON.stringify({ error: { code: error.code, message: error.message } }),
  }
}
