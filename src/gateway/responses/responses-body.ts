import { errorMessage, SluiceError } from '../../foundation/errors.ts'
import type { Exchange, HeaderPairs, ResponseHead, ResponseStream } from '../../relay/exchange.ts'
import { errorType, openAiError, type OpenAiError } from '../answers/openai-errors.ts'
import { ignoredParameters, ignoredParametersHeader } from '../answers/ignored-parameters.ts'
import type { AnswerBody } from '../model/answer-body.ts'
import { eventStreamHeaders, isEventStream } from '../model/event-stream-body.ts'
import type { RequestRecord } from '../request-log/request-record.ts'
import { EventLines } from './event-lines.ts'
import { isFields } from './request-fields.ts'
import { ResponseBuilding, type ResponseEvent } from './response-building.ts'
import type { ResponsesTranslation } from './responses-translation.ts'

/** An answer in one piece is held until it is whole. */
const longestAnswerBytes = 16 * 1024 * 1024

export interface ResponsesBodyOptions {
  readonly exchange: Exchange
  readonly record: RequestRecord
  readonly model: string
  readonly translation: ResponsesTranslation
  readonly now: number
  /** The response that began while the model woke. */
  readonly stream: ResponseStream | undefined
}

/** What the client is told instead of a response. */
interface Failure {
  readonly error: OpenAiError
  readonly status: number
}

/**
 * Turns an engine's answer to a chat completion into a response while it passes: a stream event by event, as fast as
 * the client reads, and everything else when it is whole.
 */
export class ResponsesBody implements AnswerBody {
  readonly #options: ResponsesBodyOptions
  readonly #building: ResponseBuilding
  readonly #lines = new EventLines()
  #stream: ResponseStream | undefined
  #head: ResponseHead | undefined
  #isStreamed = false
  #collected: Buffer[] = []
  #collectedBytes = 0
  #failure: Failure | undefined
  #isOver = false
  /** Events to be sent with the next write. */
  #outgoing = ''
  #sequence = 0

  constructor(options: ResponsesBodyOptions) {
    this.#options = options
    this.#stream = options.stream
    const { translation, now } = options
    const { model, echo } = translation
    this.#building = new ResponseBuilding({ model, echo, now }, (event) => this.#emit(event))
  }

  begin(head: ResponseHead): void {
    this.#head = head
    this.#isStreamed = head.status === 200 && isEventStream(head)
    if (!this.#isStreamed) return
    const { exchange, record } = this.#options
    this.#stream ??= exchange.startResponse(200, [...record.headers, ...eventStreamHeaders, ...this.#ignored()])
    this.#building.begin()
  }

  abandon(error: OpenAiError): string {
    this.#failure = { error, status: 502 }
    return ''
  }

  async write(chunk: Buffer | string): Promise<void> {
    const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    if (!this.#isStreamed) return this.#collect(piece)
    if (this.#isOver) throw new SluiceError('upstream_failed', this.#because('its answer went on after its end'))
    try {
      for (const data of this.#lines.push(piece)) this.#take(data)
    } catch (error) {
      this.#failure = this.#upstreamFailure(errorMessage(error))
    }
    if (this.#failure) return this.end()
    await this.#flush()
  }

  async end(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#isStreamed) return this.#endStream()
    const failure = this.#failure ?? this.#refusal()
    const response = failure ? undefined : this.#wholeResponse()
    if (response === undefined) return this.#answerFailure(failure ?? this.#upstreamFailure('it is no chat completion'))
    const pieces = this.#options.translation.pieces(JSON.stringify(response))
    if (this.#stream) return this.#sendAsEvents(this.#stream)
    this.#options.record.status = 200
    await this.#respond(200, this.#ignored(), Buffer.concat(pieces))
  }

  #take(data: string): void {
    if (data === '[DONE]') return
    const chunk: unknown = JSON.parse(data)
    if (!isFields(chunk)) throw new Error('an event of its answer is no object')
    const error = errorIn(chunk)
    if (error) this.#failure = { error, status: 502 }
    else this.#building.push(chunk)
  }

  async #endStream(): Promise<void> {
    if (!this.#failure && !this.#building.finished) this.#failure = this.#upstreamFailure('its answer has no end')
    if (this.#failure) {
      this.#tell(this.#failure)
      this.#building.fail(this.#failure.error)
    } else {
      this.#building.end()
    }
    await this.#flush()
    await this.#stream?.end()
  }

  /** A whole answer, for a client that has been sent comments: its response is a stream already. */
  async #sendAsEvents(stream: ResponseStream): Promise<void> {
    await this.#flush()
    await stream.end()
  }

  #wholeResponse(): unknown {
    const value = parsed(Buffer.concat(this.#collected).toString('utf8'))
    if (!isFields(value) || !Array.isArray(value['choices'])) return undefined
    this.#building.begin()
    this.#building.push(value)
    return this.#building.end()
  }

  #refusal(): Failure | undefined {
    const status = this.#head?.status ?? 502
    if (this.#collectedBytes > longestAnswerBytes) return this.#upstreamFailure('its answer is too long')
    if (status < 300) return undefined
    const text = Buffer.concat(this.#collected).toString('utf8')
    const error = errorIn(parsed(text))
    if (error) return { error, status }
    const { error: rest } = openAiError(
      this.#upstreamError(`it answered with status ${status}: ${text.slice(0, 2_000)}`),
    )
    return { error: { error: { ...rest, type: errorType(status) } }, status }
  }

  async #answerFailure(failure: Failure): Promise<void> {
    this.#tell(failure)
    const { error, status } = failure
    if (this.#stream) {
      await this.#stream.write(responsesErrorEvent(error))
      return this.#stream.end()
    }
    const retryAfter = this.#head?.headers.get('retry-after')
    const headers: HeaderPairs = retryAfter === undefined ? [] : [['retry-after', retryAfter]]
    await this.#respond(status, headers, JSON.stringify(error))
  }

  #respond(status: number, headers: HeaderPairs, body: Buffer | string): Promise<void> {
    const { exchange, record } = this.#options
    const all: HeaderPairs = [...record.headers, ['content-type', 'application/json'], ...headers]
    return new Promise((resolve, reject) => {
      exchange.respond({ status, headers: all, body }, (failure) =>
        failure === undefined ? resolve() : reject(failure),
      )
    })
  }

  #collect(piece: Buffer): void {
    this.#collectedBytes += piece.length
    if (this.#collectedBytes <= longestAnswerBytes) this.#collected.push(piece)
    else this.#collected = []
  }

  #emit(event: ResponseEvent): void {
    this.#outgoing += eventText(event, this.#sequence++)
  }

  async #flush(): Promise<void> {
    const text = this.#outgoing
    this.#outgoing = ''
    if (text === '' || !this.#stream) return
    const pieces = this.#options.translation.pieces(text)
    await this.#stream.write(pieces.length === 1 ? (pieces[0] ?? '') : Buffer.concat(pieces))
  }

  #ignored(): HeaderPairs {
    const named = [...this.#options.translation.ignored, ...ignoredParameters(this.#head?.headers)]
    return ignoredParametersHeader(named)
  }

  #tell({ error, status }: Failure): void {
    const { record } = this.#options
    record.status = status
    record.errorCode = error.error.code
  }

  #upstreamFailure(reason: string): Failure {
    return { error: openAiError(this.#upstreamError(reason)), status: 502 }
  }

  #upstreamError(reason: string): SluiceError {
    return new SluiceError('upstream_failed', this.#because(reason))
  }

  #because(reason: string): { model: string; reason: string } {
    return { model: this.#options.model, reason }
  }
}

function eventText(event: ResponseEvent, sequence: number): string {
  return `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: sequence })}\n\n`
}

/**
 * An error instead of a response. Documented are the flat fields; what OpenAI sends, and what its clients throw by, is
 * the object.
 */
export function responsesErrorEvent({ error }: OpenAiError): string {
  const { code, message, param } = error
  return eventText({ type: 'error', code, message, param, error }, 0)
}

function errorIn(value: unknown): OpenAiError | undefined {
  const error = isFields(value) ? value['error'] : undefined
  if (!isFields(error)) return undefined
  const { message, type, code, param } = error
  return {
    error: {
      message: typeof message === 'string' ? message : 'The engine failed.',
      type: typeof type === 'string' ? type : 'server_error',
      code: typeof code === 'string' || typeof code === 'number' ? String(code) : 'server_error',
      param: typeof param === 'string' ? param : null,
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
