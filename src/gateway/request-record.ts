import { type Logger, logFlatLine } from '../foundation/log.ts'
import type { Exchange, HeaderPairs } from '../relay/exchange.ts'
import type { HeaderField } from '../relay/header-field.ts'
import { headerField } from '../relay/header-list.ts'
import { corsFields, corsHeaders } from './cors.ts'
import type { ForwardedClient } from './forwarded-client.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'
import { requestIdFrom } from './request-id.ts'
import type { TokenUsage } from './usage-tail.ts'

/** What becomes known of one request while it is served; told once, when it is finished. */
export class RequestRecord {
  readonly requestId: string
  /** The same as a field. */
  readonly idField: HeaderField
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
    this.requestId = requestIdFrom(exchange.head.headers.get('x-request-id'))
    this.idField = headerField('x-request-id', this.requestId)
    this.client = client
    this.#startedAt = now
  }

  /** On every answer of the gateway itself. */
  get headers(): HeaderPairs {
    return [['x-request-id', this.requestId], ...corsHeaders]
  }

  /** On every answer of a model's server. */
  get fields(): readonly HeaderField[] {
    return [this.idField, ...corsFields]
  }

  elapsedMs(now: number): number {
    return now - this.#startedAt
  }

  finish(exchange: Exchange, now: number, log: Logger, metrics: GatewayMetrics): void {
    const { route, model, endpoint, status, waitMs, firstByteMs, bytes } = this
    const durationMs = this.elapsedMs(now)
    metrics.requests.series(route, model ?? '', String(status)).add()
    metrics.requestSeconds.series(route).observe(durationMs / 1000)
    if (model !== undefined && firstByteMs !== undefined) {
      metrics.firstByteSeconds.series(model).observe(firstByteMs / 1000)
      metrics.responseBytes.series(model).add(bytes)
    }
    if (model !== undefined && !this.complete) metrics.brokenOff.inc({ model })
    const { requestId, client, key, attempts, usage, errorCode, complete } = this
    if (model !== undefined && usage) metrics.countTokens(model, usage)
    const line = {
      requestId,
      client: client.address,
      method: exchange.head.method,
      route,
      model,
      endpoint,
      status,
      waitMs,
      firstByteMs,
      durationMs,
      bytes,
      key,
      promptTokens: usage?.promptTokens,
      completionTokens: usage?.completionTokens,
      errorCode,
      attempts: attempts > 1 ? attempts : undefined,
      complete: complete ? undefined : false,
    }
    // What the gateway answers by itself (health, metrics, the chat page) is of interest only when it fails.
    const level = status >= 500 || !complete ? 'warn' : model === undefined && status < 400 ? 'debug' : 'info'
    logFlatLine(log, level, line, 'request', now)
  }
}
