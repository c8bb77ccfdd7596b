import type { SecureContextOptions } from 'node:tls'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { type Exchange, ForwardError } from '../relay/exchange.ts'
import type { RelayLimits } from '../relay/limits.ts'
import { type Handler, type ListenOptions, RelayServer } from '../relay/relay-server.ts'
import { edgeErrorAnswer } from './edge-errors.ts'
import { ExposureMetrics } from './exposure-metrics.ts'
import { pickUpstream, upstreamKey } from './pick-upstream.ts'
import type { ExposureRoute } from './plan-routes.ts'

/** Where hosts lead: one per cluster. */
export interface HostRoutes {
  find(host: string): ExposureRoute | undefined
}

export interface ExposureEdgeOptions {
  readonly log: Logger
  /** Asked again on every `reloadTls`. Without it the edge speaks plain HTTP, for use behind something that has TLS. */
  readonly tls?: SecureContextOptions | (() => SecureContextOptions)
  readonly metrics?: Metrics
  readonly relayLimits?: Partial<RelayLimits>
}

const maxAttempts = 3
const hostForm = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::\d{1,5})?$/
/** Methods that may be sent again though the first server may have acted on them (RFC 9110 9.2.2). */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** The address outside: takes requests for exposed hosts to the Services behind them, upgrades included. */
export class ExposureEdge {
  readonly #log: Logger
  readonly #metrics: ExposureMetrics
  readonly #server: RelayServer
  readonly #clusters = new Set<HostRoutes>()
  readonly #inFlight = new Map<string, number>()
  #turn = 0

  readonly handler: Handler = (exchange) => this.#handle(exchange)

  constructor(options: ExposureEdgeOptions) {
    this.#log = options.log
    this.#metrics = new ExposureMetrics(options.metrics)
    this.#server = new RelayServer({
      handler: this.handler,
      log: options.log,
      ...(options.tls && { tls: options.tls }),
      ...(options.relayLimits && { limits: options.relayLimits }),
    })
  }

  /** Returns how to take the cluster's routes out again. */
  addRoutes(routes: HostRoutes): () => void {
    this.#clusters.add(routes)
    return () => this.#clusters.delete(routes)
  }

  listen(host: string, port: number, options: ListenOptions = {}): Promise<{ host: string; port: number }> {
    return this.#server.listen(host, port, options)
  }

  reloadTls(): void {
    this.#server.reloadTls()
  }

  close(options: { readonly graceMs: number }): Promise<void> {
    return this.#server.close(options)
  }

  async #handle(exchange: Exchange): Promise<void> {
    markLoop('exposure', exchange.head.path)
    let route: ExposureRoute | undefined
    let status = 0
    this.#metrics.inFlight.inc()
    try {
      route = this.#routeOf(exchange)
      status = await this.#forwardSomewhere(exchange, route)
    } catch (error) {
      const stopping = error instanceof SluiceError && error.code === 'stopping'
      status = exchange.signal.aborted && !stopping ? 499 : await this.#answerError(exchange, error)
    } finally {
      this.#metrics.inFlight.dec()
      // Only hosts that exist are counted by name: anybody may ask for any.
      this.#metrics.requests.inc({ exporter: route?.exporter ?? '', status: String(status) })
    }
  }

  #routeOf({ head }: Exchange): ExposureRoute {
    const given = head.headers.get('host') ?? ''
    const host = hostForm.exec(given.toLowerCase())?.[1] ?? ''
    for (const cluster of this.#clusters) {
      const route = host === '' ? undefined : cluster.find(host)
      if (route) return route
    }
    throw new SluiceError('host_not_exposed', { host: given.slice(0, 300) || 'an unnamed host' })
  }

  async #forwardSomewhere(exchange: Exchange, route: ExposureRoute): Promise<number> {
    const failed = new Set<string>()
    for (let attempt = 1; ; attempt++) {
      const upstream = pickUpstream(route.endpoints, this.#inFlight, this.#turn++, failed)
      if (!upstream) throw new SluiceError('service_without_endpoints', { host: route.host })
      const key = upstreamKey(upstream)
      this.#inFlight.set(key, (this.#inFlight.get(key) ?? 0) + 1)
      try {
        return (await exchange.forward(upstream)).status
      } catch (error) {
        if (!(error instanceof ForwardError) || exchange.signal.aborted) throw error
        failed.add(key)
        const untouched = error.phase === 'connect' || repeatable.has(exchange.head.method)
        const another = failed.size < route.endpoints.length
        if (!error.retryable || !untouched || !another || attempt >= maxAttempts) {
          throw new SluiceError('bad_gateway', { reason: error.message }, { cause: error })
        }
      } finally {
        const left = (this.#inFlight.get(key) ?? 1) - 1
        if (left > 0) this.#inFlight.set(key, left)
        else this.#inFlight.delete(key)
      }
    }
  }

  async #answerError(exchange: Exchange, error: unknown): Promise<number> {
    const known = error instanceof SluiceError ? error : new SluiceError('internal_error', {}, { cause: error })
    if (known.code === 'internal_error') this.#log.error({ err: error }, 'a request failed inside the edge')
    if (exchange.responseStarted) throw known
    await exchange.respond(edgeErrorAnswer(known))
    return known.status
  }
}
