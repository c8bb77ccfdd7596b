import type { Clock } from './clock.ts'

/** How much is done in one turn of the event loop by somebody whose work never waits for anything outside. */
export interface TurnLimits {
  readonly items: number
  readonly ms: number
}

/**
 * Fifty reconciles or ten milliseconds, whichever is first: between them the loop answers sockets and timers, and a
 * stream sees no gap that a person could notice.
 */
const usual: TurnLimits = { items: 50, ms: 10 }

/**
 * Lets the event loop turn between pieces of work. Promises that are resolved already, as those of a cluster in the
 * same process are, never leave the microtask queue: a loop over them shuts out everybody else until it ends, and one
 * that feeds itself for ever.
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

  /** To be asked before each piece of work: a promise to wait for when enough was done in this turn, else nothing. */
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
