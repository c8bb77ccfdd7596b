import type { HistogramSeries } from '../../foundation/held-series.ts'
import type { Metrics } from '../../foundation/metrics.ts'

/** Shorter stalls are normal. */
export const leastStallMs = 10
const windowMs = 60_000

/** Metrics of how long an event loop did not turn. */
export class LoopMetrics {
  readonly #stalls: HistogramSeries
  #longestMs = 0
  #longestBeforeMs = 0
  #windowBegan: number

  constructor(metrics: Metrics, loop: string, now: () => number) {
    this.#windowBegan = now()
    const help = 'How long a loop did not turn, each time that it was for 10 ms or more.'
    const buckets = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
    this.#stalls = metrics.heldHistogram('sluice_loop_stall_seconds', help, buckets, ['loop']).series(loop)
    metrics.gauge(
      'sluice_loop_longest_stall_seconds',
      'The longest time that a loop did not turn in the last one to two minutes.',
      ['loop'],
      (gauge) => {
        this.#turnWindow(now())
        gauge.set({ loop }, Math.max(this.#longestMs, this.#longestBeforeMs) / 1000)
      },
    )
  }

  observe(stallMs: number, now: number): void {
    this.#turnWindow(now)
    this.#stalls.observe(stallMs / 1000)
    if (stallMs > this.#longestMs) this.#longestMs = stallMs
  }

  #turnWindow(now: number): void {
    const windows = Math.floor((now - this.#windowBegan) / windowMs)
    if (windows < 1) return
    this.#windowBegan += windows * windowMs
    this.#longestBeforeMs = windows === 1 ? this.#longestMs : 0
    this.#longestMs = 0
  }
}
