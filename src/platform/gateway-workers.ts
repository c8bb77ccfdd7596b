import * as net from 'node:net'
import { backoffMs } from '../cluster/backoff.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import type { Clock } from '../foundation/clock.ts'
import { errorMessage, SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import type { ApiKey } from '../resources/api-key.ts'
import type { Model } from '../resources/model.ts'
import type { LoadTable } from '../traffic/load-table.ts'
import type { DeskPool } from '../traffic/pool-desk.ts'
import type { GatewayWorkerMetrics } from './gateway-worker-metrics.ts'
import type { GatewayWorkerSettings, ToGatewayWorker } from './gateway-worker-messages.ts'
import { GatewayWorker, type GatewayWorkerOptions } from './gateway-worker.ts'
import { MirrorFeed } from './object-mirror.ts'

export interface GatewayWorkersOptions {
  readonly count: number
  readonly settings: GatewayWorkerSettings
  readonly loads: LoadTable
  readonly pool: DeskPool
  readonly models: ObjectCache<Model>
  readonly keys: ObjectCache<ApiKey>
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly workerMetrics: GatewayWorkerMetrics
  readonly random?: () => number
  readonly spawn?: (options: GatewayWorkerOptions) => GatewayWorker
}

const restartLimits = { firstMs: 100, longestMs: 30_000 }
/** One that ran this long was well: that it ended says nothing about the next. */
const healthyMs = 60_000

/** The gateway as several threads that listen on one port. One that is lost is started again; the others do not notice. */
export class GatewayWorkers {
  readonly #options: GatewayWorkersOptions
  readonly #workers = new Map<number, GatewayWorker>()
  readonly #stopping = new AbortController()
  readonly #modelFeed: MirrorFeed<Model>
  readonly #keyFeed: MirrorFeed<ApiKey> | undefined
  #supervised: ReadonlyArray<Promise<void>> = []

  constructor(options: GatewayWorkersOptions) {
    this.#options = options
    const { models, keys, clock, metrics, workerMetrics, settings } = options
    this.#modelFeed = new MirrorFeed({
      cache: models,
      concerns: ({ metadata }) => metadata.namespace === settings.namespace,
      tell: (news) => this.#tellAll({ type: 'models', news }),
      clock,
    })
    if (settings.requireApiKeys) {
      this.#keyFeed = new MirrorFeed({
        cache: keys,
        concerns: ({ spec }) => spec.use === 'Inference',
        tell: (news) => this.#tellAll({ type: 'keys', news }),
        clock,
      })
    }
    metrics.includeOthers(() => workerMetrics.collect(this.#workers.values()))
  }

  /** How many accept connections. */
  get running(): number {
    return this.#workers.size
  }

  /** Resolves when all of them accept connections; the first picks the port where it is 0. */
  async listen(host: string, port: number): Promise<{ host: string; port: number }> {
    const { signal } = this.#stopping
    // Threads share their port with whoever asks for it the same way; another program must not be among them.
    if (port !== 0) await refuseTakenPort(host, port)
    const rows = Array.from({ length: this.#options.count }, (_, index) => index + 1)
    const workers = rows.map((row) => ({ row, worker: this.#spawn(row) }))
    try {
      const [first, ...others] = workers
      const shared = (await first?.worker.listen(host, port, signal)) ?? port
      await Promise.all(others.map(({ worker }) => worker.listen(host, shared, signal)))
      for (const { row, worker } of workers) this.#joined(row, worker)
      this.#supervised = workers.map(({ row, worker }) => this.#supervise(row, worker, host, shared))
      return { host, port: shared }
    } catch (error) {
      await Promise.all(workers.map(({ worker }) => worker.kill()))
      throw isCode(error, 'ENOTSUP') ? new SluiceError('workers_unsupported', {}, { cause: error }) : error
    }
  }

  async close(options: { readonly graceMs: number }): Promise<void> {
    this.#stopping.abort(new SluiceError('stopping'))
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop(options.graceMs)))
    await Promise.all(this.#supervised)
    this.#modelFeed.close()
    this.#keyFeed?.close()
  }

  #spawn(row: number): GatewayWorker {
    const { settings, loads, pool, clock, metrics, spawn = (of) => new GatewayWorker(of) } = this.#options
    const worker = spawn({ settings, row, loads, pool, clock, metricsText: () => metrics.text() })
    worker.tell({ type: 'models', news: this.#modelFeed.whole() })
    if (this.#keyFeed) worker.tell({ type: 'keys', news: this.#keyFeed.whole() })
    this.#workers.set(row, worker)
    return worker
  }

  #joined(row: number, worker: GatewayWorker): void {
    this.#options.workerMetrics.running.inc()
    void worker.ended.then(() => this.#options.workerMetrics.running.dec())
    this.#options.log.debug({ worker: row }, 'a gateway worker accepts connections')
  }

  async #supervise(row: number, first: GatewayWorker, host: string, port: number): Promise<void> {
    const { clock, log, workerMetrics, random = Math.random } = this.#options
    const { signal } = this.#stopping
    let worker = first
    let failures = 0
    for (;;) {
      const begunAt = clock.now()
      const error = await worker.ended
      this.#workers.delete(row)
      await workerMetrics.ended(worker, error !== undefined)
      if (signal.aborted) return
      failures = clock.now() - begunAt >= healthyMs ? 1 : failures + 1
      const pauseMs = backoffMs(failures, random(), restartLimits)
      log.error({ worker: row, err: error, pauseMs }, 'a gateway worker was lost with its connections')
      await clock.sleep(pauseMs, signal).catch(() => {})
      if (signal.aborted) return
      worker = this.#spawn(row)
      try {
        await worker.listen(host, port, signal)
        this.#joined(row, worker)
        log.info({ worker: row }, 'the gateway worker is there again')
      } catch (error) {
        const reason = errorMessage(error)
        if (!signal.aborted) log.error({ worker: row, reason }, 'the gateway worker could not be started again')
        await worker.kill()
      }
    }
  }

  #tellAll(message: ToGatewayWorker): void {
    for (const worker of this.#workers.values()) worker.tell(message)
  }
}

/** Listens alone for a moment: that is refused when anybody else listens. */
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
