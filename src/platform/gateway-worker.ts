import { MessageChannel, Worker } from 'node:worker_threads'
import { type Clock, abortReason } from '../foundation/clock.ts'
import { asError, SluiceError } from '../foundation/errors.ts'
import type { MetricsSnapshot } from '../foundation/metrics.ts'
import type { LoadTable } from '../traffic/load-table.ts'
import { type DeskPool, PoolDesk } from '../traffic/pool-desk.ts'
import type {
  FromGatewayWorker,
  GatewayWorkerData,
  GatewayWorkerSettings,
  ToGatewayWorker,
} from './gateway-worker-messages.ts'
import { PendingAnswers } from './pending-answers.ts'

export interface GatewayWorkerOptions {
  readonly settings: GatewayWorkerSettings
  readonly row: number
  readonly loads: LoadTable
  readonly pool: DeskPool
  readonly clock: Clock
  /** What all have counted. */
  readonly metricsText: () => Promise<string>
}

/** Beside this file, compiled or not. */
const program = new URL(`gateway-worker-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
const listenDeadlineMs = 30_000
const snapshotDeadlineMs = 1_000
/** Beyond its grace a gateway takes two seconds for its last words. */
const stopSlackMs = 3_000

/** One thread of the gateway, as its owner sees it. When it ends, whatever the reason, nothing of it is left in the counts. */
export class GatewayWorker {
  /** Why it ended; without an error it was told to. */
  readonly ended: Promise<Error | undefined>
  readonly #options: GatewayWorkerOptions
  readonly #thread: Worker
  readonly #snapshots: PendingAnswers<MetricsSnapshot>
  readonly #listening = Promise.withResolvers<number>()
  #error: Error | undefined
  #stopping = false

  constructor(options: GatewayWorkerOptions) {
    this.#options = options
    const { settings, row, loads, pool, clock } = options
    const { port1, port2 } = new MessageChannel()
    const data: GatewayWorkerData = { settings, row, loads: loads.shape, poolPort: port2 }
    this.#snapshots = new PendingAnswers({ clock, deadlineMs: snapshotDeadlineMs })
    this.#thread = new Worker(program, {
      workerData: data,
      transferList: [port2],
      name: `gateway-${row}`,
      // Requests leave much behind that dies at once; with less room it would be looked through several times as often.
      resourceLimits: { maxYoungGenerationSizeMb: 96 },
    })
    const desk = new PoolDesk({ pool, port: port1, row })
    this.#thread.on('message', (message: FromGatewayWorker) => this.#hear(message))
    this.#thread.on('error', (error) => (this.#error = asError(error)))
    this.#listening.promise.catch(() => {})
    this.ended = new Promise((resolve) => {
      this.#thread.on('exit', (code) => {
        desk.close()
        const error = this.#error ?? (this.#stopping ? undefined : new Error(`the thread ended with ${code}`))
        this.#listening.reject(error ?? new SluiceError('stopping'))
        this.#snapshots.giveUp()
        resolve(error)
      })
    })
  }

  tell(message: ToGatewayWorker): void {
    this.#thread.postMessage(message, [])
  }

  /** Resolves with the port once connections are accepted; rejects with a Node error code when they cannot be. */
  async listen(host: string, port: number, signal: AbortSignal): Promise<number> {
    if (signal.aborted) throw abortReason(signal)
    const { clock, row } = this.#options
    const giveUp = (error: Error) => this.#listening.reject(error)
    const onAbort = () => giveUp(abortReason(signal))
    const seconds = listenDeadlineMs / 1000
    const overdue = new SluiceError('lifecycle_deadline', {
      component: `gateway worker ${row}`,
      phase: 'start',
      seconds,
    })
    const cancel = clock.after(listenDeadlineMs, () => giveUp(overdue))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      this.tell({ type: 'listen', host, port })
      return await this.#listening.promise
    } finally {
      cancel()
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** What it has counted; `undefined` when it does not say so in time. */
  snapshot(): Promise<MetricsSnapshot | undefined> {
    return this.#snapshots.ask((id) => this.tell({ type: 'snapshot', id }))
  }

  /** It accepts nothing new, and its requests have the grace to finish. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    this.tell({ type: 'stop', graceMs })
    const cancel = this.#options.clock.after(graceMs + stopSlackMs, () => void this.#thread.terminate())
    await this.ended
    cancel()
  }

  /** At once, with all its connections. */
  async kill(): Promise<void> {
    await this.#thread.terminate()
    await this.ended
  }

  #hear(message: FromGatewayWorker): void {
    switch (message.type) {
      case 'listening':
        return this.#listening.resolve(message.port)
      case 'not-listening':
        return this.#listening.reject(Object.assign(new Error(message.reason), { code: message.code }))
      case 'snapshot':
        return this.#snapshots.answer(message.id, message.snapshot)
      case 'metrics': {
        const { id } = message
        this.#options.metricsText().then(
          (text) => this.tell({ type: 'metrics', id, text }),
          () => this.tell({ type: 'metrics', id, text: undefined }),
        )
      }
    }
  }
}
