import type { SecureContextOptions } from 'node:tls'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import type { Metrics } from '../foundation/metrics.ts'
import type { Done, Exchange, Handler } from '../relay/exchange.ts'
import type { RelayLimits } from '../relay/limits.ts'
import { type ListenOptions, RelayServer } from '../relay/relay-server.ts'
import type { TurnClock } from '../relay/socket/turn-clock.ts'
import { edgeErrorAnswer } from './edge-errors.ts'
import { ExposureMetrics } from './exposure-metrics.ts'
import type { ExposureRoute } from './plan-routes.ts'
import { ServiceLoads, ServiceRequest } from './service-request.ts'

/** Where hosts lead: one per cluster. */
export interface HostRoutes {
  find(host: string): ExposureRoute | undefined
}

export interface ExposureEdgeOptions {
  readonly clock?: TurnClock
  readonly log: Logger
  /** Asked again on every `reloadTls`. Without it the edge speaks plain HTTP, for use behind something that has TLS. */
  readonly tls?: SecureContextOptions | (() => SecureContextOptions)
  readonly metrics?: Metrics
  readonly relayLimits?: Partial<RelayLimits>
}

const hostForm = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::\d{1,5})?$/

/** The address outside: takes requests for exposed hosts to the Services behind them, upgrades included. */
export class ExposureEdge {
  readonly #log: Logger
  readonly #metrics: ExposureMetrics
  readonly #server: RelayServer
  readonly #clusters = new Set<HostRoutes>()
  readonly #loads = new ServiceLoads()

  readonly handler: Handler = (exchange, done) => this.#handle(exchange, done)

  constructor(options: ExposureEdgeOptions) {
    this.#log = options.log
    this.#metrics = new ExposureMetrics(options.metrics)
    this.#server = new RelayServer({
      handler: this.handler,
      errorAnswer: edgeErrorAnswer,
      log: options.log,
      ...(options.clock && { clock: options.clock }),
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

  #handle(exchange: Exchange, done: Done): void {
    markLoop('exposure', exchange.head.path)
    let route: ExposureRoute | undefined
    this.#metrics.inFlight.inc()
    const finish = (status: number, failure?: unknown): void => {
      this.#metrics.inFlight.dec()
      // Only hosts that exist are counted by name: anybody may ask for any.
      this.#metrics.requests.inc({ exporter: route?.exporter ?? '', status: String(status) })
      done(failure)
    }
    const fail = (error: unknown): void => {
      const stopping = error instanceof SluiceError && error.code === 'stopping'
      if (exchange.signal.aborted && !stopping) finish(499)
      else this.#answerError(exchange, error, finish)
    }
    try {
      route = this.#routeOf(exchange)
      new ServiceRequest(exchange, route, this.#loads, { onAnswered: finish, onFailed: fail }).try()
    } catch (error) {
      fail(error)
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

  #answerError(exchange: Exchange, error: unknown, finish: (status: number, failure?: unknown) => void): void {
    const known = error instanceof SluiceError ? error : new SluiceError('internal_error', {}, { cause: error })
    if (known.code === 'internal_error') this.#log.error({ err: error }, 'a request failed inside the edge')
    if (exchange.responseStarted) return finish(0, known)
    exchange.respond(edgeErrorAnswer(known), (failure) => finish(failure === undefined ? known.status : 0, failure))
  }
}
