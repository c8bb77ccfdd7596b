import { type CancelTimer, type Clock, sleepWith } from '../../foundation/clock.ts'

/**
 * A clock that stands still while everything that was read in one turn of the event loop is handled. A request looks at
 * the clock ten times within some microseconds, and each look at the system's takes as long as finding its route.
 */
export class TurnClock implements Clock {
  readonly #clock: Clock
  /** The time that it is for now; 0 while the clock moves. */
  #heldAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#heldAt || this.#clock.now()
  }

  after(ms: number, callback: () => void): CancelTimer {
    return this.#clock.after(ms, callback)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  /** Stands still until `handle` returns. Not for work that takes long or waits. */
  during<T>(handle: (input: T) => void, input: T): void {
    if (this.#heldAt > 0) return handle(input)
    this.#heldAt = this.#clock.now()
    try {
      handle(input)
    } finally {
      this.#heldAt = 0
    }
  }
}
