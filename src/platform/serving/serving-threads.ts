import * as net from 'node:net'
import { backoffMs } from '../../cluster/pace/backoff.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { RouteFeed, type RouteSource } from '../../exposure/routes/route-mirror.ts'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage, SluiceError } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import type { LoopBoardShape } from '../loop-watch/loop-board.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import type { ApiKey } from '../../resources/api-key.ts'
import type { Model } from '../../resources/model.ts'
import type { LoadTable } from '../../traffic/endpoints/load-table.ts'
import type { WaitingPool } from '../../traffic/workers/pool-for-worker.ts'
import { MirrorFeed } from './mirror-feed.ts'
import type { ServedExposure, ServedGateway, ServingFace, ToServingThread } from './serving-messages.ts'
import { ServingMetrics } from './serving-metrics.ts'
import { type ListenAt, type ServedUsageSink, ServingThread, type ServingThreadOptions } from './serving-thread.ts'

/** What the threads need from the gateway's part in the main thread. */
export interface GatewayToServe {
  readonly settings: ServedGateway
  readonly loads: LoadTable
  readonly pool: WaitingPool
  readonly models: ObjectCache<Model>
  readonly keys: ObjectCache<ApiKey>
  /** Gets what models answered to whom. */
  readonly usage?: ServedUsageSink | undefined
  /** Resolves when `models` has every Model that exists by now. */
  readonly catchUp: () => Promise<void>
  /** Why no sleeping model is woken at the moment, if something else than this program wakes them. */
  readonly wakeObstacle?: WakeObstacle | undefined
}

export interface WakeObstacle {
  readonly current: string | undefined
  onChange(listener: () => void): () => void
}

export interface ExposureToServe {
  /** The edge's certificate, which may be replaced at any time. */
  readonly tls: {
    readonly current: ServedExposure
    onChange(listener: () => void): () => void
  }
  readonly routes: RouteSource
}

/** `lost`: a thread ended by itself. `back`: another one has taken its place. */
export type ServingNews =
  | { readonly type: 'lost'; readonly row: number; readonly reason: string }
  | { readonly type: 'back'; readonly row: number }

export interface ServingThreadsOptions {
  readonly count: number
  readonly gateway: GatewayToServe | undefined
  readonly exposure: ExposureToServe | undefined
  readonly logPath: string | undefined
  /** Where the main thread shows that its event loop still turns. */
  readonly ownerLoop?: LoopBoardShape | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Is told what users should know about. */
  readonly news?: ((news: ServingNews) => void) | undefined
  readonly random?: () => number
  readonly spawn?: (options: ServingThreadOptions) => ServingThread
}

const restartLimits = { firstMs: 100, longestMs: 30_000 }
/** A thread that ran this long was healthy, so its end does not count as a further failure in a row. */
const healthyMs = 60_000

/**
 * The threads that serve clients. Each runs the gateway and the edge, and goes on serving while the main thread, which
 * does everything else, is slow or stuck. All listen on the same port. A thread that is lost is started again; the
 * others do not notice.
 */
export class ServingThreads {
  readonly #options: ServingThreadsOptions
  readonly #metrics: ServingMetrics
  readonly #threads = new Map<number, ServingThread>()
  readonly #stopping = new AbortController()
  readonly #feeds: ReadonlyArray<{ whole(): ToServingThread; close(): void }>
  /** Where all threads listen, for threads that start later. */
  readonly #places: Array<() => ListenAt> = []
  #supervised: ReadonlyArray<Promise<void>> | undefined

  constructor(options: ServingThreadsOptions) {
    this.#options = options
    this.#metrics = new ServingMetrics(options.metrics)
    this.#feeds = this.#createFeeds()
    options.metrics.includeOthers(() => this.#metrics.collect(this.#threads.values()))
  }

  /** How many threads run. */
  get running(): number {
    return this.#threads.size
  }

  /** Starts the threads, so that they are ready when they are told to listen. */
  begin(): void {
    this.#supervised ??= this.#spawnAll()
  }

  /**
   * Resolves when all threads accept connections. If the port is 0, the first thread picks one. `outside` are sockets
   * that already listen in another network namespace: one for each thread, replacements included.
   */
  async listen(
    face: ServingFace,
    host: string,
    port: number,
    outside?: number[],
  ): Promise<{ host: string; port: number }> {
    const { signal } = this.#stopping
    const reusePort = this.#options.count > 1
    // Any program could share a port in this way, so make sure that no other one has it.
    if (reusePort && port !== 0) await refuseTakenPort(host, port)
    this.begin()
    // Tell everything first, so that the very first request finds it.
    for (const thread of this.#threads.values()) this.#inform(thread)
    const [first, ...others] = this.#threads.values()
    try {
      const shared = (await first?.listen({ face, host, port, reusePort, outside: outside?.shift() }, signal)) ?? port
      const place = (): ListenAt => ({ face, host, port: shared, reusePort, outside: outside?.shift() })
      await Promise.all(others.map((thread) => thread.listen(place(), signal)))
      this.#places.push(place)
      return { host, port: shared }
    } catch (error) {
      throw isCode(error, 'ENOTSUP') ? new SluiceError('workers_unsupported', {}, { cause: error }) : error
    }
  }

  async close(options: { readonly graceMs: number }): Promise<void> {
    this.#stopping.abort(new SluiceError('stopping'))
    await Promise.all([...this.#threads.values()].map((thread) => thread.stop(options.graceMs)))
    await Promise.all(this.#supervised ?? [])
    for (const feed of this.#feeds) feed.close()
  }

  #createFeeds(): ReadonlyArray<{ whole(): ToServingThread; close(): void }> {
    const { gateway, exposure, clock } = this.#options
    const feeds = []
    if (gateway) {
      const { namespace, requireApiKeys } = gateway.settings
      const models = new MirrorFeed({
        cache: gateway.models,
        concerns: ({ metadata }) => metadata.namespace === namespace,
        tell: (news) => this.#tellAll({ type: 'models', news }),
        clock,
      })
      feeds.push({ whole: () => ({ type: 'models' as const, news: models.whole() }), close: () => models.close() })
      if (requireApiKeys) {
        const keys = new MirrorFeed({
          cache: gateway.keys,
          concerns: ({ spec }) => spec.use === 'Inference',
          tell: (news) => this.#tellAll({ type: 'keys', news }),
          clock,
        })
        feeds.push({ whole: () => ({ type: 'keys' as const, news: keys.whole() }), close: () => keys.close() })
      }
    }
    const obstacle = gateway?.wakeObstacle
    if (obstacle) {
      const news = () => ({ type: 'wake-obstacle' as const, reason: obstacle.current })
      feeds.push({ whole: news, close: obstacle.onChange(() => this.#tellAll(news())) })
    }
    if (exposure) {
      const routes = new RouteFeed(exposure.routes, (news) => this.#tellAll({ type: 'routes', news }))
      feeds.push({ whole: () => ({ type: 'routes' as const, news: routes.whole() }), close: () => routes.close() })
      const certificate = () => ({ type: 'certificate' as const, tls: exposure.tls.current })
      const forget = exposure.tls.onChange(() => this.#tellAll(certificate()))
      feeds.push({ whole: certificate, close: forget })
    }
    return feeds
  }

  #spawnAll(): ReadonlyArray<Promise<void>> {
    const rows = Array.from({ length: this.#options.count }, (_, index) => index + 1)
    return rows.map((row) => this.#supervise(row, this.#spawn(row)))
  }

  #spawn(row: number): ServingThread {
    const {
      gateway,
      exposure,
      logPath,
      ownerLoop,
      clock,
      metrics,
      spawn = (of) => new ServingThread(of),
    } = this.#options
    const thread = spawn({
      row,
      gateway,
      exposure: exposure?.tls.current,
      logPath,
      // One thread that watches is enough.
      ownerLoop: row === 1 ? ownerLoop : undefined,
      clock,
      metricsText: () => metrics.text(),
    })
    this.#inform(thread)
    this.#threads.set(row, thread)
    this.#metrics.running.inc()
    void thread.ended.then(() => this.#metrics.running.dec())
    return thread
  }

  #inform(thread: ServingThread): void {
    for (const feed of this.#feeds) thread.tell(feed.whole())
  }

  async #supervise(row: number, first: ServingThread): Promise<void> {
    const { clock, log, news, random = Math.random } = this.#options
    const { signal } = this.#stopping
    let thread = first
    let failures = 0
    for (;;) {
      const begunAt = clock.now()
      const error = await thread.ended
      this.#threads.delete(row)
      await this.#metrics.ended(thread, error !== undefined)
      if (signal.aborted) return
      failures = clock.now() - begunAt >= healthyMs ? 1 : failures + 1
      const pauseMs = backoffMs(failures, random(), restartLimits)
      log.error({ thread: row, err: error, pauseMs }, 'a serving thread was lost with its connections')
      news?.({ type: 'lost', row, reason: errorMessage(error) })
      await clock.sleep(pauseMs, signal).catch(() => {})
      if (signal.aborted) return
      thread = this.#spawn(row)
      try {
        for (const place of this.#places) await thread.listen(place(), signal)
        log.info({ thread: row }, 'the serving thread is there again')
        news?.({ type: 'back', row })
      } catch (error) {
        const reason = errorMessage(error)
        if (!signal.aborted) log.error({ thread: row, reason }, 'the serving thread could not be started again')
        await thread.kill()
      }
    }
  }

  #tellAll(message: ToServingThread): void {
    for (const thread of this.#threads.values()) thread.tell(message)
  }
}

/** Listens alone for a moment, which fails if anybody else listens there. */
function refuseTakenPort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', reject)
    server.listen({ host, port }, () => server.close(() => resolve()))
  })
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
