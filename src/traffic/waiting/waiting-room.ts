import { abortReason, type CancelTimer, type Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import type { ReserveHint, Seat } from '../endpoint-pool.ts'

interface Waiter<H, S> {
  readonly since: number
  readonly hint: H
  admit(seat: S): void
  refuse(error: Error): void
}

export interface WaitingRoomOptions {
  readonly model: string
  readonly clock: Clock
  /** How many may wait. */
  readonly size: number
  /** The `Retry-After` for requests that find the room full. */
  readonly retryAfterSeconds: number
}

export interface WaitOptions<H> {
  readonly hint: H
  readonly deadlineMs: number
  /** Called at the deadline, because only then the reason is known. */
  overdue(): Error
  readonly signal: AbortSignal
}

/**
 * The requests that wait for one model, in order of arrival. Each leaves exactly once: with a seat, refused, at its
 * deadline, or when its client leaves.
 */
export class WaitingRoom<H = ReserveHint, S = Seat> {
  readonly #waiters = new Set<Waiter<H, S>>()
  readonly #options: WaitingRoomOptions
  readonly #clock: Clock

  constructor(options: WaitingRoomOptions) {
    this.#options = options
    this.#clock = options.clock
  }

  get size(): number {
    return this.#waiters.size
  }

  /** Throws the 429 of a full waiting room. */
  refuseWhenFull(): void {
    const { model, size, retryAfterSeconds } = this.#options
    if (this.size < size) return
    throw new SluiceError('waiting_room_full', { model, waiting: this.size, retryAfterSeconds })
  }

  wait(options: WaitOptions<H>): Promise<S> {
    const { signal, hint } = options
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(abortReason(signal))
      let cancelDeadline: CancelTimer = () => {}
      const leave = () => {
        this.#waiters.delete(waiter)
        cancelDeadline()
        signal.removeEventListener('abort', onAbort)
      }
      const onAbort = () => waiter.refuse(abortReason(signal))
      const waiter: Waiter<H, S> = {
        since: this.#clock.now(),
        hint,
        admit(seat) {
          leave()
          resolve(seat)
        },
        refuse(error) {
          leave()
          reject(error)
        },
      }
      this.#waiters.add(waiter)
      cancelDeadline = this.#clock.after(options.deadlineMs, () => waiter.refuse(options.overdue()))
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Gives out seats in order of arrival, as long as there are any. */
  admit(take: (hint: H) => S | undefined, onAdmitted: (waitedMs: number) => void): void {
    if (this.#waiters.size === 0) return
    const now = this.#clock.now()
    for (const waiter of this.#waiters) {
      const seat = take(waiter.hint)
      if (!seat) return
      waiter.admit(seat)
      // Negative only if the clock was set back meanwhile.
      onAdmitted(Math.max(0, now - waiter.since))
    }
  }

  refuseAll(error: Error): void {
    for (const waiter of this.#waiters) waiter.refuse(error)
  }
}
