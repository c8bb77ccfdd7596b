import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import { type Exchange, ForwardError, type HeaderChanges } from '../relay/exchange.ts'
import type { EndpointPool, ReserveHint, Seat } from '../traffic/endpoint-pool.ts'
import type { ModelCatalog } from '../traffic/model-catalog.ts'
import { isClientGone } from './client-gone.ts'
import { doneEvent, EventStreamBody } from './event-stream-body.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'
import type { GatewaySettings } from './gateway-settings.ts'
import { codedError, errorEvent, openAiError } from './openai-errors.ts'
import { ModelAnswer } from './model-answer.ts'
import type { Asked } from './model-name.ts'
import type { RequestRecord } from './request-record.ts'
import { wakeComment, WakeFeedback } from './wake-feedback.ts'

export interface InferenceRequest extends Asked {
  /** Path and query at the model's server. */
  readonly target: string
  /** Headers to set on the way there or, with `undefined`, to remove. */
  readonly headers: HeaderChanges
  /** Whether answers say what they took. */
  readonly reportsUsage: boolean
}

export interface InferenceOptions {
  readonly catalog: ModelCatalog
  readonly pool: EndpointPool
  readonly clock: Clock
  readonly metrics: GatewayMetrics
  readonly settings: GatewaySettings
}

/** A request's way to its model: a seat, now or after waking it; then there and back; on another endpoint if need be. */
export class Inference {
  readonly #options: InferenceOptions

  constructor(options: InferenceOptions) {
    this.#options = options
  }

  serve(exchange: Exchange, request: InferenceRequest, record: RequestRecord): Promise<void> {
    if (!request.streamed) return this.#serveSomewhere(exchange, request, record, undefined)
    return this.#serveStreamed(exchange, request, record)
  }

  async #serveStreamed(exchange: Exchange, request: InferenceRequest, record: RequestRecord): Promise<void> {
    const feedback = this.#feedback(exchange, request.model, record)
    try {
      await this.#serveSomewhere(exchange, request, record, feedback)
    } catch (error) {
      if (!feedback.stream || isClientGone(exchange)) throw error
      await this.#endWithError(feedback, record, codedError(error))
    }
  }

  async #serveSomewhere(
    exchange: Exchange,
    request: InferenceRequest,
    record: RequestRecord,
    feedback: WakeFeedback | undefined,
  ): Promise<void> {
    const { clock, settings, metrics, pool } = this.#options
    let failed: Set<string> | undefined
    const begunAt = clock.now()
    for (;;) {
      record.attempts++
      const hint = { exclude: failed, prefix: request.prefix }
      const seat = pool.trySeat(request.model, hint) ?? (await this.#wait(exchange, request, hint, record, feedback))
      record.endpoint = seat.endpoint
      let healthy = true
      try {
        const into = feedback?.stream && new EventStreamBody(feedback.stream, request.model)
        const answer = new ModelAnswer(request, record, seat, into)
        const result = await exchange.forward(seat.address, answer)
        answer.finish(result)
        healthy = result.complete || exchange.signal.aborted
        return
      } catch (error) {
        if (!(error instanceof ForwardError) || exchange.signal.aborted) throw error
        healthy = false
        failed = (failed ?? new Set()).add(seat.endpoint)
        const late = clock.now() - begunAt >= settings.retryWithinMs
        if (!error.retryable || late || record.attempts >= settings.maxAttempts) {
          throw new SluiceError('upstream_failed', { model: request.model, reason: error.message }, { cause: error })
        }
        metrics.retries.inc({ model: request.model })
      } finally {
        seat.release(healthy ? 'served' : 'failed')
      }
    }
  }

  async #wait(
    exchange: Exchange,
    request: InferenceRequest,
    hint: ReserveHint,
    record: RequestRecord,
    feedback: WakeFeedback | undefined,
  ): Promise<Seat> {
    const { clock, pool } = this.#options
    const askedAt = clock.now()
    try {
      const reserving = pool.reserve(request.model, hint, exchange.signal)
      return await (feedback ? feedback.during(reserving) : reserving)
    } finally {
      record.waitMs += clock.now() - askedAt
    }
  }

  #feedback(exchange: Exchange, model: string, record: RequestRecord): WakeFeedback {
    const { catalog, clock, settings } = this.#options
    return new WakeFeedback({
      exchange,
      clock,
      headers: record.headers,
      afterMs: settings.feedbackAfterMs,
      everyMs: settings.feedbackEveryMs,
      describe: (waitedMs) => wakeComment(model, catalog.get(model), waitedMs),
    })
  }

  /** The status line is long gone; the error is told as an event, and the stream ended as clients expect it. */
  async #endWithError({ stream }: WakeFeedback, record: RequestRecord, error: SluiceError): Promise<void> {
    record.status = error.status
    record.errorCode = error.code
    await stream?.write(errorEvent(openAiError(error)) + doneEvent)
    await stream?.end()
  }
}
