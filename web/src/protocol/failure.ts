import { isRecord, parseJson, textOf } from './json-value.ts'

/** What went wrong with an answer, in the server's words if it has sent any. */
export interface Failure {
  message: string
  code: string
}

const MAX_MESSAGE_CHARACTERS = 2_000

/** Reads OpenAI's `{error: {...}}`; undefined for anything else. */
export function failureFromBody(body: unknown): Failure | undefined {
  if (!isRecord(body)) return undefined
  const { error } = body
  if (typeof error === 'string' && error !== '') return failure(error, '')
  if (!isRecord(error)) return undefined
  const code = typeof error['code'] === 'number' ? String(error['code']) : textOf(error['code'])
  return failure(
    textOf(error['message']) || 'The server reported an error without a message.',
    code || textOf(error['type']),
  )
}

export function failureFromResponse(status: number, bodyText: string): Failure {
  const told = failureFromBody(parseJson(bodyText))
  return told ?? failure(`The gateway answered with status ${status}.`, `http_${status}`)
}

function failure(message: string, code: string): Failure {
  return { message: message.slice(0, MAX_MESSAGE_CHARACTERS), code: code.slice(0, 100) }
}

/** Thrown by the client when an answer cannot continue. */
export class AnswerError extends Error {
  readonly failure: Failure

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options)
    this.name = 'AnswerError'
    this.failure = failure
  }
}
