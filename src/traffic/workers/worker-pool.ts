import type { MessagePort } from 'node:worker_threads'
import { abortReason, type CancelTimer, type Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import type { EndpointPool, ReserveHint, Seat } from '../endpoint-pool.ts'
import type { LoadTable } from '../endpoints/load-table.ts'
import type { OfferedEndpoint } from '../endpoints/offered-endpoint.ts'
import type { OwnerMessage, WorkerMessage } from './worker-messages.ts'
import { WorkerSeats, type WorkerSeatsEvents } from './worker-seats.ts'

export interface WorkerPoolOptions {
  /** Its other end has a `PoolForWorker`. */
  readonly port: MessagePort
  readonly loads: LoadTable
  readonly row: number
  readonly clock: Clock
  /** How long the main thread lets a request wait. */
  readonly wakeDeadlineMs: number
}

interface Asking {
  readonly model: string
  readonly blocks: readonly number[]
  grant(endpoint: OfferedEndpoint): void
  refuse(error: Error): void
}

/** The main thread answers by its deadline; without an answer this much later, none will come. */
const answerSlackMs = 5_000

/**
 * The pool in a serving thread. It picks endpoints itself while there are free ones, and asks the main thread, which
 * owns the waiting rooms, for everything else.
 */
export class WorkerPool implements EndpointPool {
  readonly #options: WorkerPoolOptions
  readonly #seats = new Map<string, WorkerSeats>()
  readonly #asking = new Map<number, Asking>()
  #lastId = 0

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    options.port.on('message', (message: OwnerMessage) => this.#hear(message))
    options.port.on('close', () => {
      for (const asking of this.#asking.values()) asking.refuse(new SluiceError('stopping'))
    })
  }

  trySeat(model: string, hint: ReserveHint): Seat | undefined {
    return this.#seats.get(model)?.trySeat(hint)
  }

  async reserve(model: string, hint: ReserveHint, signal: AbortSignal): Promise<Seat> {
    if (signal.aborted) throw abortReason(signal)
    return this.trySeat(model, hint) ?? this.#ask(model, hint, signal)
  }

  /** How many requests wait for the main thread's answer. */
  get waiting(): number {
    return this.#asking.size
  }

  #ask(model: string, hint: ReserveHint, signal: AbortSignal): Promise<Seat> {
    const { clock, wakeDeadlineMs } = this.#options
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      let cancelDeadline: CancelTimer = () => {}
      const leave = () => {
        this.#asking.delete(id)
        cancelDeadline()
        signal.removeEventListener('abort', onAbort)
      }
      const giveUp = (error: Error) => {
        this.#tell({ type: 'leave', id })
        asking.refuse(error)
      }
      const onAbort = () => giveUp(abortReason(signal))
      const known = this.#seats.get(model)
      const asking: Asking = {
        model,
        // Hashing the prompt pays off only if there is a choice.
        blocks: known?.hasChoice ? (hint.prefix?.() ?? []) : [],
        grant: (endpoint) => {
          leave()
          const seats = this.#seats.get(model) ?? this.#newSeats(model)
          resolve(seats.seatGranted(endpoint, asking.blocks))
        },
        refuse: (error) => {
          leave()
          reject(error)
        },
      }
      this.#asking.set(id, asking)
      const seconds = Math.round(wakeDeadlineMs / 1000)
      const reason = 'the waiting room does not answer'
      const overdue = () => giveUp(new SluiceError('wake_deadline', { model, seconds, reason }))
      cancelDeadline = clock.after(wakeDeadlineMs + answerSlackMs, overdue)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#tell({ type: 'wait', id, model, exclude: [...(hint.exclude ?? [])], blocks: asking.blocks })
    })
  }

  #hear(message: OwnerMessage): void {
    switch (message.type) {
      case 'endpoints': {
        const { model, endpoints } = message
        const seats = this.#seats.get(model) ?? this.#newSeats(model)
        seats.offer(endpoints)
        if (endpoints.length > 0) this.#seats.set(model, seats)
        else this.#seats.delete(model)
        return
      }
      case 'seat': {
        const asking = this.#asking.get(message.id)
        if (asking) return asking.grant(message.endpoint)
        // The client left while the seat was on its way. The seat is counted, so it has to be released.
        this.#options.loads.release(message.endpoint.place, this.#options.row)
        return this.#tell({ type: 'freed', model: message.model })
      }
      case 'refused':
        this.#asking.get(message.id)?.refuse(new SluiceError(message.code, message.details))
    }
  }

  #newSeats(model: string): WorkerSeats {
    const { loads, row, clock } = this.#options
    const events: WorkerSeatsEvents = {
      freed: () => this.#tell({ type: 'freed', model }),
      failed: (place) => this.#tell({ type: 'failed', model, place }),
      answered: () => this.#tell({ type: 'answered', model }),
    }
    return new WorkerSeats({ loads, row, clock, events })
  }

  #tell(message: WorkerMessage): void {
    this.#options.port.postMessage(message, [])
  }
}
