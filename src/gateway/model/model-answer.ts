import { SluiceError } from '../../foundation/errors.ts'
import type { ForwardOptions, ForwardResult, HeaderChanges, ResponseHead } from '../../relay/exchange.ts'
import type { HeaderField } from '../../relay/http/header-field.ts'
import type { Seat } from '../../traffic/endpoint-pool.ts'
import { openAiError, type OpenAiError } from '../answers/openai-errors.ts'
import type { RequestRecord } from '../request-log/request-record.ts'
import type { AnswerBody } from './answer-body.ts'
import { engineKeyField } from './engine-key-field.ts'
import { countEvents } from '../usage/stream-events.ts'
import { brokenOffEvent, isEventStream } from './event-stream-body.ts'
import { UsageTail } from './usage-tail.ts'

/** A request as it is sent to a model's server. */
export interface SentRequest {
  readonly model: string
  /** The path and query at the model's server. */
  readonly target: string
  /** Instead of the client's body. */
  readonly sentBody?: readonly Buffer[] | undefined
  /** Fields set and removed on the way, besides the engine's own key. */
  readonly headers: HeaderChanges
  /** Whether answers report token usage. */
  readonly reportsUsage: boolean
}

/** Handles one attempt to get a model's answer: records what passes, and ends a broken stream with an error event. */
export class ModelAnswer implements ForwardOptions {
  readonly target: string
  readonly requestHeaders: HeaderChanges
  readonly responseHeaders: readonly HeaderField[]
  readonly into: AnswerBody | undefined
  readonly body: readonly Buffer[] | undefined
  readonly #request: SentRequest
  readonly #record: RequestRecord
  readonly #seat: Seat
  #tail: UsageTail | undefined
  #streams = false

  /** `into`: where the answer goes if it cannot go to the client as it is. */
  constructor(request: SentRequest, record: RequestRecord, seat: Seat, into: AnswerBody | undefined) {
    this.target = request.target
    this.requestHeaders = seat.key === undefined ? request.headers : withKey(request.headers, seat.key)
    this.responseHeaders = record.fields
    this.into = into
    this.body = request.sentBody
    this.#request = request
    this.#record = record
    this.#seat = seat
  }

  onResponseHead(head: ResponseHead, firstByteAt: number): void {
    this.#record.status = head.status
    this.#record.firstByteMs = this.#record.elapsedMs(firstByteAt)
    this.#seat.answered()
    if (this.#request.reportsUsage && mayTellUsage(head)) {
      this.#tail = new UsageTail()
      this.#streams = isEventStream(head)
    }
    this.into?.begin(head)
  }

  onResponsePiece(piece: Buffer): void {
    this.#record.bytes += piece.length
    this.#tail?.push(piece)
    if (this.#streams) this.#record.events += countEvents(piece)
  }

  onBrokenOff(head: ResponseHead, error: Error): string | undefined {
    const reported = brokenOffError(this.#request.model, error)
    return this.into ? this.into.abandon(reported) : isEventStream(head) ? brokenOffEvent(reported) : undefined
  }

  finish(result: ForwardResult): void {
    this.#record.bytes = result.responseBytes
    this.#record.complete = result.complete
    this.readUsage()
  }

  /** Also of an answer that is not delivered to its end: some engines report with every event. */
  readUsage(): void {
    this.#record.usage = this.#tail?.read()
  }
}

/** Replaces the client's own `Authorization`: its key is not for the engine. */
function withKey({ set, remove }: HeaderChanges, key: string): HeaderChanges {
  return { set: [...set, engineKeyField(key)], remove }
}

function mayTellUsage({ status, headers }: ResponseHead): boolean {
  return status === 200 && headers.get('content-encoding') === undefined
}

function brokenOffError(model: string, error: Error): OpenAiError {
  const cause = error instanceof SluiceError && error.code === 'stopping' ? error : undefined
  return openAiError(cause ?? new SluiceError('upstream_broke_off', { model }))
}
