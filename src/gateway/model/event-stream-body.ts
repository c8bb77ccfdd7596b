import { SluiceError } from '../../foundation/errors.ts'
import type { HeaderPairs, ResponseHead, ResponseStream } from '../../relay/exchange.ts'
import { errorEvent, errorType, type OpenAiError } from '../answers/openai-errors.ts'
import type { AnswerBody } from './answer-body.ts'

const longestAnswerBytes = 1024 * 1024
export const doneEvent = 'data: [DONE]\n\n'

export const eventStreamHeaders: HeaderPairs = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-cache'],
  ['x-accel-buffering', 'no'],
]

export function isEventStream(head: ResponseHead): boolean {
  return /^text\/event-stream\s*(?:;|$)/i.test(head.headers.get('content-type') ?? '')
}

/**
 * Passes a model's answer into an event stream that began while the model woke. Events go on unchanged; any other
 * answer (mostly an error) becomes one event, because its status can no longer be sent.
 */
export class EventStreamBody implements AnswerBody {
  readonly #stream: ResponseStream
  readonly #model: string
  #other: ResponseHead | undefined
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(stream: ResponseStream, model: string) {
    this.#stream = stream
    this.#model = model
  }

  begin(head: ResponseHead): void {
    this.#other = head.status < 300 && isEventStream(head) ? undefined : head
  }

  abandon(error: OpenAiError): string {
    this.#other = undefined
    this.#pieces = []
    return brokenOffEvent(error)
  }

  async write(chunk: Buffer | string): Promise<void> {
    if (!this.#other) return this.#stream.write(chunk)
    const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    this.#bytes += piece.length
    // Beyond the limit the rest is dropped, and `end` reports that it was too much.
    if (this.#bytes <= longestAnswerBytes) this.#pieces.push(piece)
  }

  async end(): Promise<void> {
    if (this.#other) await this.#stream.write(this.#asEvent(this.#other) + doneEvent)
    await this.#stream.end()
  }

  #asEvent(head: ResponseHead): string {
    const text = Buffer.concat(this.#pieces).toString('utf8')
    const value = this.#bytes <= longestAnswerBytes ? parsed(text) : undefined
    if (head.status < 300) {
      return value === undefined
        ? errorEvent(this.#error(head, 'it is no event stream'))
        : `data: ${JSON.stringify(value)}\n\n`
    }
    const isError = typeof value === 'object' && value !== null && 'error' in value
    return isError ? `data: ${JSON.stringify(value)}\n\n` : errorEvent(this.#error(head, text.slice(0, 2_000)))
  }

  #error(head: ResponseHead, reason: string): OpenAiError {
    const { message, code } = new SluiceError('upstream_failed', {
      model: this.#model,
      reason: `it answered with status ${head.status}: ${reason}`,
    })
    return { error: { message, type: errorType(head.status), code, param: null } }
  }
}

/** Starts with an empty line, because the answer may have broken off within a line. */
export function brokenOffEvent(error: OpenAiError): string {
  return `\n\n${errorEvent(error)}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
