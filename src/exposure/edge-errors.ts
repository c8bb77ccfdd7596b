import type { SluiceError } from '../foundation/errors.ts'
import type { Answer } from '../relay/exchange.ts'

const retryAfterSeconds = 5

/** The edge serves any kind of Service, so its own errors are plain JSON that no Service is likely to use. */
export function edgeErrorAnswer(error: SluiceError): Answer {
  return {
    status: error.status,
    headers: [
      ['content-type', 'application/json'],
      ['cache-control', 'no-store'],
      ...(error.status === 503 ? ([['retry-after', String(retryAfterSeconds)]] as const) : []),
    ],
    body: JSON.stringify({ error: { code: error.code, message: error.message } }),
  }
}
