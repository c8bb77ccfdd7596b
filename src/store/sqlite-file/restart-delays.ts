import type { Clock } from '../../foundation/clock.ts'

const firstDelayMs = 50
const longestDelayMs = 30_000
/** A thread that lived this long did not fail for the same reason as the one before. */
const steadyMs = 60_000

/** How long to wait before restarting something: longer each time it ends soon after its start. */
export class RestartDelays {
  readonly #clock: Clock
  #delayMs = firstDelayMs
  #lastAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  next(): number {
    const now = this.#clock.now()
    if (now - this.#lastAt > this.#delayMs + steadyMs) this.#delayMs = firstDelayMs
    const delayMs = this.#delayMs
    this.#delayMs = Math.min(2 * delayMs, longestDelayMs)
    this.#lastAt = now
    return delayMs
  }
}
