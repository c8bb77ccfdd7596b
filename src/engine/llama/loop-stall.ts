import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How often the loop is looked at; it is that late at least. */
const resolutionMs = 10

/** Measures how long nobody could be answered because the event loop did something else. */
export class LoopStall {
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs })

  constructor() {
    this.#delay.enable()
  }

  /** The longest since this was last called. */
  takeSeconds(): number {
    const longestMs = this.#delay.max / 1e6 - resolutionMs
    this.#delay.reset()
    return Math.max(0, longestMs) / 1000
  }
}
