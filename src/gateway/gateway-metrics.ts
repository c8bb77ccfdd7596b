import { Metrics } from '../foundation/metrics.ts'
import type { TokenUsage } from './model/usage-tail.ts'

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

  countTokens(model: string, { promptTokens, completionTokens }: TokenUsage): void {
    this.tokens.series(model, 'prompt').add(promptTokens)
    this.tokens.series(model, 'completion').add(completionTokens)
  }
}
