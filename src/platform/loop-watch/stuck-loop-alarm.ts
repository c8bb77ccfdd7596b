import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { LoopBoard } from './loop-board.ts'

export interface StuckLoopAlarmOptions {
  /** The name of the loop that is watched. */
  readonly loop: string
  readonly board: LoopBoard
  readonly clock: Clock
  readonly log: Logger
}

const everyMs = 200
const toldFromMs = 1_000

/**
 * Logs that another thread's event loop is stuck, while it is, since that thread cannot. Writes one line then, and one
 * when the loop turns again.
 */
export class StuckLoopAlarm {
  readonly #options: StuckLoopAlarmOptions
  #cancel: CancelTimer = () => {}
  #turns = 0
  /** Counted in checks, not by the clock: while this thread was stuck itself, it saw nothing of the other one. */
  #stuckMs = 0
  #told = false

  constructor(options: StuckLoopAlarmOptions) {
    this.#options = options
  }

  start(): void {
    this.#turns = this.#options.board.turns
    this.#schedule()
  }

  stop(): void {
    this.#cancel()
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.after(everyMs, () => this.#look())
  }

  #look(): void {
    this.#schedule()
    const { loop, board, log } = this.#options
    const { turns } = board
    const seconds = (this.#stuckMs + everyMs) / 1000
    if (turns !== this.#turns) {
      this.#turns = turns
      if (this.#told) log.warn({ loop, seconds }, `the ${loop} loop turns again after ${seconds.toFixed(1)} s`)
      this.#told = false
      this.#stuckMs = 0
      return
    }
    this.#stuckMs += everyMs
    if (this.#told || this.#stuckMs <= toldFromMs) return
    this.#told = true
    const lastBegun = board.lastBegun
    log.warn({ loop, lastBegun }, `the ${loop} loop has not turned for ${(this.#stuckMs / 1000).toFixed(1)} s`)
  }
}
