import type { MembersLog } from '../foundation/log.ts'
import type { Exchange, HeaderPairs } from '../relay/exchange.ts'
import type { HeaderField } from '../relay/header-field.ts'
import { allowOrigin, corsHeaders, exposeHeaders } from './cors.ts'
import type { ForwardedClient } from './forwarded-client.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'
import { requestIdField } from './request-id.ts'
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
    return [this.idField, allowOrigin, exposeHeaders]
  }

  elapsedMs(now: number): number {
    return now - this.#startedAt
  }

  finish(exchange: Exchange, now: number, log: MembersLog, metrics: GatewayMetrics): void {
    const { route, model, status, firstByteMs, bytes } = this
    const durationMs = this.elapsedMs(now)
    if (model === undefined) {
      metrics.requestSeconds.series(route).observe(durationMs / 1000)
      metrics.requests.series(route, '', String(status)).add()
    } else {
      const series = metrics.countAnswer(model, route, status)
      series.requestSeconds.observe(durationMs / 1000)
      if (firstByteMs !== undefined) {
        series.firstByteSeconds.observe(firstByteMs / 1000)
        series.responseBytes.add(bytes)
      }
    }
    if (model !== undefined && !this.complete) metrics.brokenOff.inc({ model })
    const { complete, usage } = this
    if (model !== undefined && usage) metrics.countTokens(model, usage)
    // What the gateway answers by itself (health, metrics, the chat page) is of interest only when it fails.
    const level = status >= 500 || !complete ? 'warn' : model === undefined && status < 400 ? 'debug' : 'info'
    log.write(level, this.#members(exchange.head.method, durationMs), 'request', now)
  }

  /** Everything in it is a number, a name that was checked, or of our own making. */
  #members(method: string, durationMs: number): string {
    const { requestId, client, route, model, endpoint, status, waitMs, firstByteMs, bytes, usage } = this
    let members = `"requestId":"${requestId}","client":"${client.address}","method":"${method}","route":"${route}"`
    if (model !== undefined) members += `,"model":"${model}"`
    if (endpoint !== undefined) members += `,"endpoint":"${endpoint}"`
    members += `,"status":${status},"waitMs":${waitMs}`
    if (firstByteMs !== undefined) members += `,"firstByteMs":${firstByteMs}`
    members += `,"durationMs":${durationMs},"bytes":${bytes}`
    if (this.key !== undefined) members += `,"key":"${this.key}"`
    if (usage) members += `,"promptTokens":${usage.promptTokens},"completionTokens":${usage.completionTokens}`
    if (this.errorCode !== undefined) members += `,"errorCode":"${this.errorCode}"`
    if (this.attempts > 1) members += `,"attempts":${this.attempts}`
    return this.complete ? members : `${members},"complete":false`
  }
}
