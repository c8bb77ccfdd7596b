import type { CounterSeries, HistogramSeries } from '../foundation/held-series.ts'
import { Metrics } from '../foundation/metrics.ts'
import type { TokenUsage } from './model/usage-tail.ts'

/**
 * The series that the answers of one model count in, so that a request finds them with one lookup instead of five. Most
 * answers take the route and have the status of the one before: only those two are remembered.
 */
interface ModelSeries {
  readonly firstByteSeconds: HistogramSeries
  readonly responseBytes: CounterSeries
  route: string
  status: number
  requests: CounterSeries
  requestSeconds: HistogramSeries
}

/** The gateway's metrics. Routes and statuses are few; only existing models become labels. */
export class GatewayMetrics {
  readonly requests
  readonly firstByteSeconds
  readonly requestSeconds
  readonly responseBytes
  readonly retries
  readonly brokenOff
  readonly tokens
  /** Requests being served or waiting. */
  inFlight = 0
  readonly #models = new Map<string, ModelSeries>()

  constructor(metrics: Metrics = new Metrics()) {
    this.requests = metrics.heldCounter(
      'sluice_gateway_requests_total',
      'Finished requests; status 499: the client left.',
      ['route', 'model', 'status'],
    )
    const gauge = 'sluice_gateway_in_flight_requests'
    metrics.gauge(gauge, 'Requests being served or waiting.', [], (inFlight) => inFlight.set(this.inFlight))
    this.firstByteSeconds = metrics.heldHistogram(
      'sluice_gateway_first_byte_seconds',
      "From the request's head to the first byte of the model's answer, waiting included.",
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
      ['model'],
    )
    this.requestSeconds = metrics.heldHistogram(
      'sluice_gateway_request_seconds',
      "From the request's head to the end of its answer.",
      [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800],
      ['route'],
    )
    this.responseBytes = metrics.heldCounter(
      'sluice_gateway_response_bytes_total',
      'Body bytes that models answered with.',
      ['model'],
    )
    this.retries = metrics.counter('sluice_gateway_retries_total', 'Requests sent again to another endpoint.', [
      'model',
    ])
    this.brokenOff = metrics.counter(
      'sluice_gateway_broken_off_total',
      'Answers that broke off after their first byte.',
      ['model'],
    )
    this.tokens = metrics.heldCounter(
      'sluice_gateway_tokens_total',
      'Tokens that engines reported with their answers; streams tell them when asked with stream_options.include_usage.',
      ['model', 'kind'],
    )
  }

  /** Counts a finished request whose model exists, and returns the series for what else is known about it. */
  countAnswer(model: string, route: string, status: number): ModelSeries {
    const known = this.#models.get(model)
    if (known && known.route === route && known.status === status) {
      known.requests.add()
      return known
    }
    const requests = this.requests.series(route, model, String(status))
    const requestSeconds = this.requestSeconds.series(route)
    requests.add()
    if (known) return Object.assign(known, { route, status, requests, requestSeconds })
    const firstByteSeconds = this.firstByteSeconds.series(model)
    const responseBytes = this.responseBytes.series(model)
    const series = { firstByteSeconds, responseBytes, route, status, requests, requestSeconds }
    this.#models.set(model, series)
    return series
  }

  countTokens(model: string, { promptTokens, completionTokens }: TokenUsage): void {
    this.tokens.series(model, 'prompt').add(promptTokens)
    this.tokens.series(model, 'completion').add(completionTokens)
  }
}
