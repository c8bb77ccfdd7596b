import type { Clock } from './clock.ts'

/**
 * How much work may be done in one turn of the event loop by code that never waits for anything outside the process.
 */
export interface TurnLimits {
  readonly items: number
  readonly ms: number
}

/**
 * Fifty items or ten milliseconds, whichever comes first. In between, the loop serves sockets and timers, so that no
 * stream has a gap that a person would notice.
 */
const usual: TurnLimits = { items: 50, ms: 10 }

/**
 * Lets the event loop turn between pieces of work. Promises that are already resolved, as those of a cluster in the
 * same process are, never leave the microtask queue. A loop over them would block everything else until it ends, for
 * ever if it feeds itself.
 */
export class LoopTurns {
  readonly #clock: Pick<Clock, 'now'>
  readonly #limits: TurnLimits
  #turn: Promise<void> | undefined
  #items = 0
  #startedAt = 0

  constructor(clock: Pick<Clock, 'now'>, limits: TurnLimits = usual) {
    this.#clock = clock
    this.#limits = limits
  }

  /**
   * To be called before each piece of work. Returns a promise to wait for if enough was done in this turn, else
   * undefined.
   */
  next(): Promise<void> | undefined {
    if (!this.#turn) {
      this.#turn = new Promise((resolve) => {
        setImmediate(() => {
          this.#turn = undefined
          resolve()
        })
      })
      this.#items = 0
      this.#startedAt = this.#clock.now()
    }
    this.#items += 1
    const enough = this.#items > this.#limits.items || this.#clock.now() - this.#startedAt > this.#limits.ms
    return enough ? this.#turn : undefined
  }
}
