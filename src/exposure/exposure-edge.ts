import type { SecureContext, SecureContextOptions } from 'node:tls'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import type { Metrics } from '../foundation/metrics.ts'
import type { Answer, Done, Exchange, Handler } from '../relay/exchange.ts'
import type { RelayLimits } from '../relay/limits.ts'
import { type ListenOptions, RelayServer } from '../relay/relay-server.ts'
import type { TurnClock } from '../relay/socket/turn-clock.ts'
import { askedHost, isOwnHost, plainHost } from './asked-host.ts'
import { HostContexts } from './certificates/host-contexts.ts'
import { edgeErrorAnswer } from './edge-errors.ts'
import { EdgeHealth } from './edge-health.ts'
import { ExposureMetrics } from './exposure-metrics.ts'
import type { ExposureRoute } from './plan-host.ts'
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
  /** What `/metrics` answers, where it is more than this edge's own. */
  readonly metricsText?: () => Promise<string>
  readonly relayLimits?: Partial<RelayLimits>
}

type Finish = (status: number, failure?: unknown) => void

/** The address outside: takes requests for exposed hosts to the Services behind them, upgrades included. */
export class ExposureEdge {
  readonly #log: Logger
  readonly #metrics: ExposureMetrics
  readonly #server: RelayServer
  readonly #health: EdgeHealth
  readonly #clusters = new Set<HostRoutes>()
  readonly #loads = new ServiceLoads()
  readonly #contexts = new HostContexts()
  #stopping = false

  readonly handler: Handler = (exchange, done) => this.#handle(exchange, done)

  constructor(options: ExposureEdgeOptions) {
    this.#log = options.log
    this.#metrics = new ExposureMetrics(options.metrics)
    const { metrics, metricsText } = options
    this.#health = new EdgeHealth({ isStopping: () => this.#stopping, metrics, metricsText })
    this.#server = new RelayServer({
      handler: this.handler,
      errorAnswer: edgeErrorAnswer,
      log: options.log,
      ...(options.clock && { clock: options.clock }),
      ...(options.tls && { tls: options.tls, contextOf: (name) => this.#contextOf(name) }),
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
    this.#stopping = true
    return this.#server.close(options)
  }

  #handle(exchange: Exchange, done: Done): void {
    markLoop('exposure', exchange.head.path)
    let route: ExposureRoute | undefined
    this.#metrics.inFlight += 1
    const finish: Finish = (status, failure) => {
      this.#metrics.inFlight -= 1
      // Only hosts that exist are counted by name: anybody may ask for any.
      this.#metrics.requests.series(route?.cluster ?? '', route?.exporter ?? '', String(status)).add()
      done(failure)
    }
    const fail = (error: unknown): void => {
      const stopping = error instanceof SluiceError && error.code === 'stopping'
      if (exchange.signal.aborted && !stopping) finish(499)
      else this.#answerError(exchange, error, finish)
    }
    try {
      const host = askedHost(exchange)
      if (isOwnHost(host)) return this.#answerOwn(exchange, finish, fail)
      route = this.#find(host)
      if (!route) throw new SluiceError('host_not_exposed')
      new ServiceRequest(exchange, route, this.#loads, { onAnswered: finish, onFailed: fail }).try()
    } catch (error) {
      fail(error)
    }
  }

  #find(host: string): ExposureRoute | undefined {
    for (const cluster of this.#clusters) {
      const route = cluster.find(host)
      if (route) return route
    }
    return undefined
  }

  #contextOf(serverName: string): SecureContext | undefined {
    const host = plainHost(serverName)
    if (host === undefined) return undefined
    try {
      return this.#contexts.of(host, this.#find(host)?.certificate)
    } catch (error) {
      // Its key may be one that TLS does not take: better another certificate than none.
      this.#log.warn({ err: error, host }, 'the certificate of a host cannot be used')
      return undefined
    }
  }

  #answerOwn(exchange: Exchange, finish: Finish, fail: (error: unknown) => void): void {
    const send = (answer: Answer): void => {
      exchange.respond(answer, (failure) => finish(failure === undefined ? answer.status : 0, failure))
    }
    const answer = this.#health.answer(exchange)
    if (answer instanceof Promise) answer.then(send, fail)
    else send(answer)
  }

  #answerError(exchange: Exchange, error: unknown, finish: Finish): void {
    const known = error instanceof SluiceError ? error : new SluiceError('internal_error', {}, { cause: error })
    if (known.code === 'internal_error') this.#log.error({ err: error }, 'a request failed inside the edge')
    if (exchange.responseStarted) return finish(0, known)
    exchange.respond(edgeErrorAnswer(known), (failure) => finish(failure === undefined ? known.status : 0, failure))
  }
}
