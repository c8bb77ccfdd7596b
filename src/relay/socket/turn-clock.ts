import { type CancelTimer, type Clock, sleepWith } from '../../foundation/clock.ts'

/**
 * A clock that stands still while input of one turn of the event loop is handled. A request reads the clock about ten
 * times within microseconds, and asking the system each time would cost 4 % of its work.
 */
export class TurnClock implements Clock {
  readonly #clock: Clock
  /** The time while it stands still; 0 while it moves. */
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

  /** Stands still until `handle` returns. Not for long work. */
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
