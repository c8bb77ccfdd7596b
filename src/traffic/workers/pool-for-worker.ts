import type { MessagePort } from 'node:worker_threads'
import { SluiceError } from '../../foundation/errors.ts'
import type { LoadPlace } from '../endpoints/load-table.ts'
import { type OfferedEndpoint, offeredOf } from '../endpoints/offered-endpoint.ts'
import type { OwnedSeat, SeatHint } from '../waiting/model-seats.ts'
import type { OwnerMessage, WorkerMessage } from './worker-messages.ts'

/** What serving a worker needs of the pool; PodPool implements it. */
export interface WaitingPool {
  models(): readonly string[]
  reserve(model: string, hint: SeatHint, signal: AbortSignal): Promise<OwnedSeat>
  openEndpoints(model: string): readonly OfferedEndpoint[]
  onOpenChanged(callback: (model: string) => void): () => void
  reportFailed(model: string, place: LoadPlace): void
  freed(model: string): void
  answered(model: string): void
  rowLost(row: number): void
}

/**
 * The main thread's end of the channel to one serving thread: it announces usable endpoints and waits on the thread's
 * behalf.
 */
export class PoolForWorker {
  readonly #pool: WaitingPool
  readonly #port: MessagePort
  readonly #row: number
  readonly #waits = new Map<number, AbortController>()
  readonly #unsubscribe: () => void
  /** Models whose endpoints changed in this turn of the event loop; they are announced together at its end. */
  readonly #changed = new Set<string>()
  #closed = false

  constructor(options: { readonly pool: WaitingPool; readonly port: MessagePort; readonly row: number }) {
    this.#pool = options.pool
    this.#port = options.port
    this.#row = options.row
    this.#port.on('message', (message: WorkerMessage) => this.#hear(message))
    this.#unsubscribe = this.#pool.onOpenChanged((model) => this.#tellSoon(model))
    for (const model of this.#pool.models()) this.#tellEndpoints(model)
  }

  /** The thread died: its waiters leave, and its requests no longer count. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#unsubscribe()
    for (const wait of this.#waits.values()) wait.abort(new Error('the worker is gone'))
    this.#port.close()
    this.#pool.rowLost(this.#row)
  }

  #hear(message: WorkerMessage): void {
    if (this.#closed) return
    switch (message.type) {
      case 'wait':
        return this.#wait(message)
      case 'leave':
        return this.#waits.get(message.id)?.abort(new Error('the client left'))
      case 'freed':
        return this.#pool.freed(message.model)
      case 'failed':
        return this.#pool.reportFailed(message.model, message.place)
      case 'answered':
        return this.#pool.answered(message.model)
    }
  }

  #wait({ id, model, exclude, blocks }: Extract<WorkerMessage, { type: 'wait' }>): void {
    const wait = new AbortController()
    this.#waits.set(id, wait)
    const hint = { row: this.#row, exclude: new Set(exclude), prefix: () => blocks }
    this.#pool
      .reserve(model, hint, wait.signal)
      .then(
        ({ offered }) => this.#tell({ type: 'seat', id, model, endpoint: offeredOf(offered) }),
        (error: unknown) => {
          if (wait.signal.aborted) return
          const known = error instanceof SluiceError ? error : new SluiceError('internal_error')
          this.#tell({ type: 'refused', id, code: known.code, details: known.details })
        },
      )
      .finally(() => this.#waits.delete(id))
  }

  #tellSoon(model: string): void {
    if (this.#changed.size === 0) setImmediate(() => this.#tellChanged())
    this.#changed.add(model)
  }

  #tellChanged(): void {
    for (const model of this.#changed) this.#tellEndpoints(model)
    this.#changed.clear()
  }

  #tellEndpoints(model: string): void {
    this.#tell({ type: 'endpoints', model, endpoints: this.#pool.openEndpoints(model) })
  }

  #tell(message: OwnerMessage): void {
    if (!this.#closed) this.#port.postMessage(message, [])
  }
}
