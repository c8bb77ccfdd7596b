import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { type Done, type Exchange, type ForwardEnd, ForwardError, type ForwardResult } from '../../relay/exchange.ts'
import type { EndpointPool, ReserveHint, Seat } from '../../traffic/endpoint-pool.ts'
import type { ModelCatalog } from '../../traffic/model-catalog.ts'
import { promptBlocks } from '../../traffic/picking/prompt-blocks.ts'
import { codedError, errorEvent, openAiError } from '../answers/openai-errors.ts'
import type { Asked } from '../body/asked-model.ts'
import { parseJson } from '../body/json-body.ts'
import type { GatewayMetrics } from '../gateway-metrics.ts'
import type { GatewaySettings } from '../gateway-settings.ts'
import { ResponsesBody, responsesErrorEvent } from '../responses/responses-body.ts'
import type { ResponsesTranslation } from '../responses/responses-translation.ts'
import type { RequestRecord } from '../request-log/request-record.ts'
import { isClientGone } from './client-gone.ts'
import type { AnswerBody } from './answer-body.ts'
import { doneEvent, EventStreamBody } from './event-stream-body.ts'
import { ModelAnswer, type SentRequest } from './model-answer.ts'
import { wakeComment, WakeFeedback } from './wake-feedback.ts'

export interface ModelRequestTools {
  readonly catalog: ModelCatalog
  readonly pool: EndpointPool
  readonly clock: Clock
  readonly metrics: GatewayMetrics
  readonly settings: GatewaySettings
  /** Why no sleeping model is woken at the moment. */
  readonly wakeObstacle?: (() => string | undefined) | undefined
}

/** What is asked of a model, and how it is sent. */
export interface ModelRequestFacts extends Asked, SentRequest {
  /** Set if a response was asked for and the model's engine has none: it is sent as a chat completion. */
  readonly translation?: ResponsesTranslation | undefined
}

/**
 * One request to a model: takes a seat, waking the model if needed, forwards the request, and tries another endpoint if
 * one fails. If the model is awake, nothing waits and no promise is made.
 */
export class ModelRequest implements ForwardEnd, ReserveHint {
  readonly #tools: ModelRequestTools
  readonly #exchange: Exchange
  readonly #request: ModelRequestFacts
  readonly #record: RequestRecord
  readonly #done: Done
  readonly #begunAt: number
  #failed: Set<string> | undefined
  #seat: Seat | undefined
  #answer: ModelAnswer | undefined
  /** Tells a streaming client how far the model is while it wakes. */
  #feedback: WakeFeedback | undefined

  constructor(
    tools: ModelRequestTools,
    exchange: Exchange,
    request: ModelRequestFacts,
    record: RequestRecord,
    done: Done,
  ) {
    this.#tools = tools
    this.#exchange = exchange
    this.#request = request
    this.#record = record
    this.#done = done
    this.#begunAt = tools.clock.now()
  }

  try(): void {
    this.#record.attempts++
    const seat = this.#tools.pool.trySeat(this.#request.model, this)
    if (seat) this.#goTo(seat)
    else this.#wait()
  }

  get exclude(): ReadonlySet<string> | undefined {
    return this.#failed
  }

  prefix(): readonly number[] {
    const { body } = this.#request
    return body ? promptBlocks(body) : []
  }

  onDelivered(result: ForwardResult): void {
    this.#release(result.complete || this.#exchange.signal.aborted)
    try {
      this.#answer?.finish(result)
    } catch (error) {
      return this.#fail(error)
    }
    this.#done()
  }

  onNotDelivered(error: Error): void {
    if (!(error instanceof ForwardError) || this.#exchange.signal.aborted) {
      this.#release(true)
      this.#answer?.readUsage()
      return this.#fail(error)
    }
    if (this.#seat) this.#failed = (this.#failed ?? new Set()).add(this.#seat.endpoint)
    this.#release(false)
    this.#tryAgain(error)
  }

  #goTo(seat: Seat): void {
    this.#seat = seat
    this.#record.endpoint = seat.endpoint
    this.#answer = new ModelAnswer(this.#request, this.#record, seat, this.#answerBody())
    this.#exchange.forward(seat.address, this.#answer, this)
  }

  #answerBody(): AnswerBody | undefined {
    const stream = this.#feedback?.stream
    const { model, translation } = this.#request
    if (!translation) return stream && new EventStreamBody(stream, model)
    const now = this.#tools.clock.now()
    return new ResponsesBody({ exchange: this.#exchange, record: this.#record, model, translation, now, stream })
  }

  #tryAgain(error: ForwardError): void {
    const { clock, settings, metrics } = this.#tools
    const { model } = this.#request
    const late = clock.now() - this.#begunAt >= settings.retryWithinMs
    if (!error.retryable || late || this.#record.attempts >= settings.maxAttempts) {
      return this.#fail(new SluiceError('upstream_failed', { model, reason: error.message }, { cause: error }))
    }
    metrics.retries.inc({ model })
    this.try()
  }

  /** This waits, with a promise: for the model to wake, or for a place. */
  #wait(): void {
    this.#seatInTime()
      .then((seat) => this.#goTo(seat))
      .catch((error: unknown) => this.#fail(error))
  }

  async #seatInTime(): Promise<Seat> {
    const { clock, pool } = this.#tools
    const { model, streamed, body, check } = this.#request
    // A model is not woken for an invalid body; one that is awake reports that itself.
    if (check) await check()
    else if (body) parseJson(body)
    const askedAt = clock.now()
    try {
      const reserving = pool.reserve(model, this, this.#exchange.signal)
      if (streamed) this.#feedback ??= this.#newFeedback()
      return await (this.#feedback?.during(reserving) ?? reserving)
    } finally {
      this.#record.waitMs += clock.now() - askedAt
    }
  }

  #newFeedback(): WakeFeedback {
    const { catalog, clock, settings, wakeObstacle } = this.#tools
    const { model } = this.#request
    return new WakeFeedback({
      exchange: this.#exchange,
      clock,
      headers: this.#record.headers,
      startedAt: this.#begunAt,
      afterMs: settings.feedbackAfterMs,
      everyMs: settings.feedbackEveryMs,
      describe: (waitedMs) => wakeComment(model, catalog.get(model), waitedMs, wakeObstacle?.()),
    })
  }

  /** If the response has begun, the error is sent as an event, and the stream is ended as clients expect. */
  #fail(failure: unknown): void {
    const stream = this.#feedback?.stream
    if (!stream || isClientGone(this.#exchange)) return this.#done(failure)
    const known = codedError(failure)
    this.#record.status = known.status
    this.#record.errorCode = known.code
    const error = openAiError(known)
    stream
      .write(this.#request.translation ? responsesErrorEvent(error) : errorEvent(error) + doneEvent)
      .then(() => stream.end())
      .then(() => this.#done(), this.#done)
  }

  #release(healthy: boolean): void {
    this.#seat?.release(healthy ? 'served' : 'failed')
    this.#seat = undefined
  }
}
