import { SluiceError } from '../foundation/errors.ts'
import { type Exchange, type ForwardEnd, ForwardError, type ForwardResult } from '../relay/exchange.ts'
import type { ReserveHint, Seat } from '../traffic/endpoint-pool.ts'
import { promptBlocks } from '../traffic/prompt-blocks.ts'
import { EventStreamBody } from './event-stream-body.ts'
import type { InferenceOptions, InferenceRequest } from './inference.ts'
import { ModelAnswer } from './model-answer.ts'
import { parseJson } from './json-body.ts'
import type { RequestRecord } from './request-record.ts'
import type { WakeFeedback } from './wake-feedback.ts'

type ModelCallTools = Pick<InferenceOptions, 'pool' | 'clock' | 'metrics' | 'settings'>

interface ModelCallOptions {
  readonly exchange: Exchange
  readonly request: InferenceRequest
  readonly record: RequestRecord
  /** Tells the client how far the model is, while it wakes. */
  readonly feedback: WakeFeedback | undefined
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** A request on its way to its model: at one endpoint after the other, until one of them answers. */
export class ModelCall implements ForwardEnd, ReserveHint {
  readonly #tools: ModelCallTools
  readonly #options: ModelCallOptions
  readonly #begunAt: number
  #failed: Set<string> | undefined
  #seat: Seat | undefined
  #answer: ModelAnswer | undefined

  constructor(tools: ModelCallTools, options: ModelCallOptions) {
    this.#tools = tools
    this.#options = options
    this.#begunAt = tools.clock.now()
  }

  try(): void {
    const { pool } = this.#tools
    const { request, record, reject } = this.#options
    record.attempts++
    const seat = pool.trySeat(request.model, this)
    if (seat) this.#goTo(seat)
    else
      this.#wait()
        .then((waited) => this.#goTo(waited))
        .catch(reject)
  }

  get exclude(): ReadonlySet<string> | undefined {
    return this.#failed
  }

  prefix(): readonly number[] {
    const { body } = this.#options.request
    return body ? promptBlocks(body) : []
  }

  delivered(result: ForwardResult): void {
    const { exchange, resolve, reject } = this.#options
    this.#release(result.complete || exchange.signal.aborted)
    try {
      this.#answer?.finish(result)
      resolve()
    } catch (error) {
      reject(error)
    }
  }

  failed(error: Error): void {
    const { exchange, reject } = this.#options
    if (!(error instanceof ForwardError) || exchange.signal.aborted) {
      this.#release(true)
      return reject(error)
    }
    if (this.#seat) this.#failed = (this.#failed ?? new Set()).add(this.#seat.endpoint)
    this.#release(false)
    this.#tryAgain(error)
  }

  #goTo(seat: Seat): void {
    const { exchange, request, record, feedback } = this.#options
    this.#seat = seat
    record.endpoint = seat.endpoint
    const into = feedback?.stream && new EventStreamBody(feedback.stream, request.model)
    this.#answer = new ModelAnswer(request, record, seat, into)
    exchange.forwardTo(seat.address, this.#answer, this)
  }

  #tryAgain(error: ForwardError): void {
    const { clock, settings, metrics } = this.#tools
    const { request, record, reject } = this.#options
    const { model } = request
    const late = clock.now() - this.#begunAt >= settings.retryWithinMs
    if (!error.retryable || late || record.attempts >= settings.maxAttempts) {
      return reject(new SluiceError('upstream_failed', { model, reason: error.message }, { cause: error }))
    }
    metrics.retries.inc({ model })
    this.try()
  }

  async #wait(): Promise<Seat> {
    const { clock, pool } = this.#tools
    const { exchange, request, record, feedback } = this.#options
    // A model is not woken for what it could not read; one that is awake says so itself.
    if (request.check) await request.check()
    else if (request.body) parseJson(request.body)
    const askedAt = clock.now()
    try {
      const reserving = pool.reserve(request.model, this, exchange.signal)
      return await (feedback ? feedback.during(reserving) : reserving)
    } finally {
      record.waitMs += clock.now() - askedAt
    }
  }

  #release(healthy: boolean): void {
    this.#seat?.release(healthy ? 'served' : 'failed')
    this.#seat = undefined
  }
}
