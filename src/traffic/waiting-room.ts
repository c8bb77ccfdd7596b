import { abortReason, type CancelTimer, type Clock } from '../foundation/clock.ts'
import type { Seat } from './endpoint-pool.ts'

interface Waiter {
  readonly since: number
  admit(seat: Seat): void
  refuse(error: Error): void
}

export interface WaitOptions {
  readonly deadlineMs: number
  /** Made when it is needed: only then is the reason known. */
  overdue(): Error
  readonly signal: AbortSignal
}

/**
 * Requests that wait for one model, in the order they came. Each leaves exactly once: with a seat, with a refusal, at its
 * deadline, or the moment its client is gone.
 */
export class WaitingRoom {
  readonly #waiters = new Set<Waiter>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#waiters.size
  }

  wait(options: WaitOptions): Promise<Seat> {
    const { signal } = options
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(abortReason(signal))
      let cancelDeadline: CancelTimer = () => {}
      const leave = () => {
        this.#waiters.delete(waiter)
        cancelDeadline()
        signal.removeEventListener('abort', onAbort)
      }
      const onAbort = () => waiter.refuse(abortReason(signal))
      const waiter: Waiter = {
        since: this.#clock.now(),
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

  /** Gives out seats in the order of arrival, until there are none. */
  admit(take: () => Seat | undefined, onAdmitted: (waitedMs: number) => void): void {
    const now = this.#clock.now()
    for (const waiter of this.#waiters) {
      const seat = take()
      if (!seat) return
      waiter.admit(seat)
      onAdmitted(now - waiter.since)
    }
  }

  refuseAll(error: Error): void {
    for (const waiter of this.#waiters) waiter.refuse(error)
  }
}
