import { STATUS_CODES } from 'node:http'
import type { SluiceError } from '../foundation/errors.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const json = { 'content-type': 'application/json' }

export function success(data: unknown): Answer {
  return { status: 200, headers: json, body: JSON.stringify({ code: 0, data }) }
}

export function failure(error: SluiceError): Answer {
  const { retryAfterSeconds } = error.details
  const headers = retryAfterSeconds === undefined ? json : { ...json, 'retry-after': String(retryAfterSeconds) }
  return { status: error.status, headers, body: failureBody(error.message) }
}

export function text(status: number, body: string, contentType = 'text/plain; charset=utf-8'): Answer {
  return { status, headers: { 'content-type': contentType }, body }
}

/** A whole HTTP response, for a connection that has not sent a valid request. */
export function rawFailure(status: number, message: string): string {
  const body = failureBody(message)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(status === 405 ? ['allow: GET, HEAD'] : []),
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

function failureBody(msg: string): string {
  return JSON.stringify({ code: -1, msg })
}
