import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { MessageChannel, SHARE_ENV, Worker, type WorkerOptions } from 'node:worker_threads'
import { type Clock, abortReason } from '../../foundation/clock.ts'
import { asError, SluiceError } from '../../foundation/errors.ts'
import type { LoopBoardShape } from '../loop-watch/loop-board.ts'
import type { MetricsSnapshot } from '../../foundation/metrics.ts'
import type { LoadTable } from '../../traffic/endpoints/load-table.ts'
import { type WaitingPool, PoolForWorker } from '../../traffic/workers/pool-for-worker.ts'
import { PendingAnswers } from './pending-answers.ts'
import type {
  FromServingThread,
  ServedExposure,
  ServedGateway,
  ServingData,
  ServingFace,
  ToServingThread,
} from './serving-messages.ts'
import type { ServedUsage } from '../../resources/usage-record.ts'

interface ThreadGateway {
  readonly settings: ServedGateway
  readonly loads: LoadTable
  readonly pool: WaitingPool
  /** Gets what models answered to whom. */
  readonly usage?: ServedUsageSink | undefined
  /** Resolves when the cache of Models has every one that exists by now. */
  readonly catchUp: () => Promise<void>
}

export interface ServedUsageSink {
  addServed(served: readonly ServedUsage[]): void
}

export interface ServingThreadOptions {
  readonly row: number
  readonly gateway: ThreadGateway | undefined
  readonly exposure: ServedExposure | undefined
  readonly logPath: string | undefined
  readonly ownerLoop: LoopBoardShape | undefined
  readonly clock: Clock
  /** The metrics of the whole program. */
  readonly metricsText: () => Promise<string>
}

export interface ListenAt {
  readonly face: ServingFace
  readonly host: string
  readonly port: number
  readonly reusePort: boolean
  readonly outside?: number | undefined
}

/** Beside this file, as TypeScript or compiled. */
const program = new URL(`serving-program.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
const listenDeadlineMs = 30_000
const snapshotDeadlineMs = 1_000
/** After the grace period a thread still takes up to two and a half seconds to end its streams. */
const stopSlackMs = 3_000
const resourceLimits = {
  // Requests leave much garbage that dies young. With less room it would be collected several times as often.
  maxYoungGenerationSizeMb: 96,
  // A thread that needs more ends by itself, before the machine ends the whole program. Bodies do not count here.
  maxOldGenerationSizeMb: 1_024,
}

/**
 * One serving thread, as the main thread sees it. When it ends, for whatever reason, its requests are no longer counted
 * as running.
 */
export class ServingThread {
  /** Resolves when the thread has ended: with an error, unless it was told to stop. */
  readonly ended: Promise<Error | undefined>
  readonly #options: ServingThreadOptions
  readonly #thread: Worker
  readonly #snapshots: PendingAnswers<MetricsSnapshot>
  readonly #listening = new Map<ServingFace, PromiseWithResolvers<number>>()
  #error: Error | undefined
  #stopping = false

  constructor(options: ServingThreadOptions) {
    this.#options = options
    const { row, gateway, exposure, logPath, ownerLoop, clock } = options
    const { port1, port2 } = new MessageChannel()
    const data: ServingData = {
      row,
      gateway: gateway && { settings: gateway.settings, loads: gateway.loads.shape, poolPort: port2 },
      exposure,
      logPath,
      ownerLoop,
    }
    this.#snapshots = new PendingAnswers({ clock, deadlineMs: snapshotDeadlineMs })
    const name = `serving-${row}`
    const transferList = gateway ? [port2] : []
    this.#thread = new Worker(program, { workerData: data, transferList, name, env: environment(), resourceLimits })
    const link = gateway && new PoolForWorker({ pool: gateway.pool, port: port1, row })
    this.#thread.on('message', (message: FromServingThread) => this.#hear(message))
    this.#thread.on('error', (error) => (this.#error = asError(error)))
    this.ended = new Promise((resolve) => {
      this.#thread.on('exit', (code) => {
        link?.close()
        const error = this.#error ?? (this.#stopping ? undefined : new Error(`the thread ended with ${code}`))
        this.#error = error ?? new SluiceError('stopping')
        for (const { reject } of this.#listening.values()) reject(this.#error)
        this.#snapshots.giveUp()
        resolve(error)
      })
    })
  }

  tell(message: ToServingThread): void {
    this.#thread.postMessage(message, [])
  }

  /** Resolves with the port once connections are accepted; otherwise rejects with a Node error code. */
  async listen(at: ListenAt, signal: AbortSignal): Promise<number> {
    if (signal.aborted) throw abortReason(signal)
    if (this.#error) throw this.#error
    const { clock, row } = this.#options
    const listening = Promise.withResolvers<number>()
    this.#listening.set(at.face, listening)
    const giveUp = (error: Error) => listening.reject(error)
    const onAbort = () => giveUp(abortReason(signal))
    const seconds = listenDeadlineMs / 1000
    const component = `serving thread ${row}`
    const overdue = new SluiceError('lifecycle_deadline', { component, phase: 'start', seconds })
    const cancel = clock.after(listenDeadlineMs, () => giveUp(overdue))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      this.tell({ type: 'listen', ...at })
      return await listening.promise
    } finally {
      cancel()
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** The thread's metrics; `undefined` if it does not answer in time. */
  snapshot(): Promise<MetricsSnapshot | undefined> {
    return this.#snapshots.ask((id) => this.tell({ type: 'snapshot', id }))
  }

  /** Accepts nothing new, and gives running requests the grace period to finish. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    this.tell({ type: 'stop', graceMs })
    const cancel = this.#options.clock.after(graceMs + stopSlackMs, () => void this.#thread.terminate())
    await this.ended
    cancel()
  }

  /** Ends the thread at once, with all its connections. */
  async kill(): Promise<void> {
    await this.#thread.terminate()
    await this.ended
  }

  #hear(message: FromServingThread): void {
    switch (message.type) {
      case 'listening':
        return this.#listening.get(message.face)?.resolve(message.port)
      case 'not-listening': {
        const { face, reason, code } = message
        return this.#listening.get(face)?.reject(Object.assign(new Error(reason), { code }))
      }
      case 'snapshot':
        return this.#snapshots.answer(message.id, message.snapshot)
      case 'usage':
        return this.#options.gateway?.usage?.addServed(message.served)
      case 'catch-up':
        return void this.#catchUp(message.id)
      case 'metrics': {
        const { id } = message
        this.#options.metricsText().then(
          (text) => this.tell({ type: 'metrics', id, text }),
          () => this.tell({ type: 'metrics', id, text: undefined }),
        )
      }
    }
  }

  async #catchUp(id: number): Promise<void> {
    await this.#options.gateway?.catchUp()
    // What a cache heard in this turn of the event loop is told at its end.
    setImmediate(() => this.tell({ type: 'caught-up', id }))
  }
}

/** With the compile cache, a thread need not load the TypeScript type stripper, which takes half of its memory. */
function environment(): WorkerOptions['env'] {
  const compiled = getCompileCacheDir()
  return compiled === undefined ? SHARE_ENV : { ...process.env, NODE_COMPILE_CACHE: dirname(compiled) }
}
