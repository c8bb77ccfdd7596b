import type { Clock } from '../foundation/clock.ts'
import type { SluiceError } from '../foundation/errors.ts'
import type { Exchange, HeaderChanges } from '../relay/exchange.ts'
import type { EndpointPool } from '../traffic/endpoint-pool.ts'
import type { ModelCatalog } from '../traffic/model-catalog.ts'
import { isClientGone } from './client-gone.ts'
import { doneEvent } from './event-stream-body.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'
import type { GatewaySettings } from './gateway-settings.ts'
import { codedError, errorEvent, openAiError } from './openai-errors.ts'
import { ModelCall } from './model-call.ts'
import type { Asked } from './model-name.ts'
import type { RequestRecord } from './request-record.ts'
import { wakeComment, WakeFeedback } from './wake-feedback.ts'

export interface InferenceRequest extends Asked {
  /** Path and query at the model's server. */
  readonly target: string
  /** What is set and what is removed on the way there, besides the engine's own key. */
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

  /** `end` hears once how it ended: no promise is made where nothing is waited for. */
  serve(exchange: Exchange, request: InferenceRequest, record: RequestRecord, end: (failure?: unknown) => void): void {
    if (request.streamed) this.#serveStreamed(exchange, request, record).then(() => end(), end)
    else
      new ModelCall(this.#options, { exchange, request, record, feedback: undefined, resolve: end, reject: end }).try()
  }

  async #serveStreamed(exchange: Exchange, request: InferenceRequest, record: RequestRecord): Promise<void> {
    const feedback = this.#feedback(exchange, request.model, record)
    try {
      await new Promise<void>((resolve, reject) => {
        new ModelCall(this.#options, { exchange, request, record, feedback, resolve, reject }).try()
      })
    } catch (error) {
      if (!feedback.stream || isClientGone(exchange)) throw error
      await this.#endWithError(feedback, record, codedError(error))
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
