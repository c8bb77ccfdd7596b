import type { Exchange, HeaderPairs } from '../../relay/exchange.ts'
import type { HeaderField } from '../../relay/http/header-field.ts'
import type { ForwardedClient } from '../access/forwarded-client.ts'
import { corsHeaders } from '../answers/cors.ts'
import { foreignAnswerFields } from '../answers/foreign-answer.ts'
import type { GatewayMetrics } from '../gateway-metrics.ts'
import type { TokenUsage } from '../model/usage-tail.ts'
import { type RequestIdField, requestIdField } from './request-id.ts'

/** What is learned about a request while it is served; counted and logged once, when it is finished. */
export class RequestRecord {
  readonly requestId: string
  /** The id as a header field. */
  readonly idField: RequestIdField
  readonly #startedAt: number
  /** The client, behind trusted proxies. */
  readonly client: ForwardedClient
  /** The name of the ApiKey. */
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
  /** Of a JSON body, as far as it was read. */
  bodyBytes = 0
  /** The events that the model streamed, if it did. */
  events = 0
  errorCode: string | undefined

  constructor(exchange: Exchange, client: ForwardedClient, now: number) {
    this.idField = requestIdField(exchange.head.headers.get('x-request-id'))
    this.requestId = this.idField.value
    this.client = client
    this.#startedAt = now
  }

  /** The headers of the gateway's own answers. */
  get headers(): HeaderPairs {
    return [['x-request-id', this.requestId], ...corsHeaders]
  }

  /** The fields set on the answers of models' servers. */
  get fields(): readonly HeaderField[] {
    return [this.idField, ...foreignAnswerFields]
  }

  elapsedMs(now: number): number {
    return now - this.#startedAt
  }

  count(metrics: GatewayMetrics, now: number): void {
    const { route, model, status, firstByteMs, bytes } = this
    const seconds = this.elapsedMs(now) / 1000
    if (model === undefined) {
      metrics.requests.series(route, '', String(status)).add()
      metrics.requestSeconds.series(route).observe(seconds)
      return
    }
    const series = metrics.countAnswer(model, route, status)
    series.requestSeconds.observe(seconds)
    if (firstByteMs !== undefined) {
      series.firstByteSeconds.observe(firstByteMs / 1000)
      series.responseBytes.add(bytes)
    }
    if (!this.complete) metrics.brokenOff.inc({ model })
    if (this.usage) metrics.countTokens(model, this.usage)
  }
}
