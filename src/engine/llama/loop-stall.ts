import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How often the event loop is checked. The monitor's figures include this interval. */
const resolutionMs = 10

/** Measures for how long the event loop was busy and nobody could be answered. */
export class LoopStall {
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs })

  constructor() {
    this.#delay.enable()
  }

  /** The longest delay since the last call. */
  takeSeconds(): number {
    const longestMs = this.#delay.max / 1e6 - resolutionMs
    this.#delay.reset()
    return Math.max(0, longestMs) / 1000
  }
}
