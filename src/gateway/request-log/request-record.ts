import type { Exchange, HeaderPairs } from '../../relay/exchange.ts'
import type { HeaderField } from '../../relay/http/header-field.ts'
import type { ForwardedClient } from '../access/forwarded-client.ts'
import { corsHeaders } from '../answers/cors.ts'
import { foreignAnswerFields } from '../answers/foreign-answer.ts'
import type { GatewayMetrics } from '../gateway-metrics.ts'
import type { TokenUsage } from '../model/usage-tail.ts'
import { type RequestIdField, requestIdField } from './request-id.ts'

/** What becomes known of one request while it is served; told once, when it is finished. */
export class RequestRecord {
  readonly requestId: string
  /** The same as a field. */
  readonly idField: RequestIdField
  readonly #startedAt: number
  /** Who asks, behind the proxies that are trusted. */
  readonly client: ForwardedClient
  /** Name of the ApiKey. */
  key: string | undefined
  route = 'none'
  model: string | undefined
  endpoint: string | undefined
  status = 0
  attempts = 0
  waitMs = 0
  firstByteMs: number | undefined
  bytes = 0
  complete = true
  usage: TokenUsage | undefined
  errorCode: string | undefined

  constructor(exchange: Exchange, client: ForwardedClient, now: number) {
    this.idField = requestIdField(exchange.head.headers.get('x-request-id'))
    this.requestId = this.idField.value
    this.client = client
    this.#startedAt = now
  }

  /** On every answer of the gateway itself. */
  get headers(): HeaderPairs {
    return [['x-request-id', this.requestId], ...corsHeaders]
  }

  /** On every answer of a model's server. */
  get fields(): readonly HeaderField[] {
    return [this.idField, ...foreignAnswerFields]
  }

  elapsedMs(now: number): number {
    return now - this.#startedAt
  }

  count(metrics: GatewayMetrics, now: number): void {
    const { route, model = '', status, firstByteMs, bytes } = this
    metrics.requests.series(route, model, String(status)).add()
    metrics.requestSeconds.series(route).observe(this.elapsedMs(now) / 1000)
    if (model === '') return
    if (firstByteMs !== undefined) {
      metrics.firstByteSeconds.series(model).observe(firstByteMs / 1000)
      metrics.responseBytes.series(model).add(bytes)
    }
    if (!this.complete) metrics.brokenOff.inc({ model })
    if (this.usage) metrics.countTokens(model, this.usage)
  }
}
