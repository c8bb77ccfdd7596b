import { PerformanceObserver } from 'node:perf_hooks'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { marksSince, marksSoFar, showMarksOn } from '../../foundation/loop-marks.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import type { LoopBoard } from './loop-board.ts'
import { leastStallMs, LoopMetrics } from './loop-metrics.ts'

export interface LoopWatchOptions {
  /** The thread's name, for metrics and the log. */
  readonly loop: string
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** A clock in milliseconds that nobody can set. */
  readonly monotonic?: () => number
  /** Where other threads can see that the loop turns. */
  readonly board?: LoopBoard | undefined
  /** Whether to tell garbage collection apart from work. Watching it is expensive where there is much of it. */
  readonly watchGarbage?: boolean
}

const everyMs = 20
const toldFromMs = 100
/** How often stalls are logged. Within this time only a much longer one is; the others are counted in the next line. */
const quietMs = 10_000

/** Measures how long its own thread's event loop did not turn, and logs afterwards what ran. */
export class LoopWatch implements Component {
  readonly name = 'loop watch'
  readonly #options: LoopWatchOptions
  readonly #monotonic: () => number
  readonly #metrics: LoopMetrics
  #observer: PerformanceObserver | undefined
  #garbageMs = 0
  #cancel: CancelTimer = () => {}
  #lastTurn = 0
  #marksAtLastTurn = 0
  #toldAt = Number.NEGATIVE_INFINITY
  #toldMs = 0
  #untold = 0

  constructor(options: LoopWatchOptions) {
    this.#options = options
    this.#monotonic = options.monotonic ?? (() => performance.now())
    this.#metrics = new LoopMetrics(options.metrics, options.loop, this.#monotonic)
  }

  start(): void {
    const { board, watchGarbage } = this.#options
    if (board) showMarksOn(board)
    if (watchGarbage) {
      this.#observer = new PerformanceObserver((list) => this.#countGarbage(list.getEntries()))
      this.#observer.observe({ entryTypes: ['gc'] })
    }
    this.#lastTurn = this.#monotonic()
    this.#marksAtLastTurn = marksSoFar()
    this.#schedule()
  }

  stop(): void {
    this.#cancel()
    this.#observer?.disconnect()
    if (this.#options.board) showMarksOn(undefined)
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.after(everyMs, () => this.#turn())
  }

  #turn(): void {
    this.#options.board?.turned()
    const now = this.#monotonic()
    const stallMs = now - this.#lastTurn - everyMs
    if (stallMs >= leastStallMs) this.#metrics.observe(stallMs, now)
    if (stallMs >= toldFromMs) this.#tell(stallMs, now)
    this.#lastTurn = now
    this.#marksAtLastTurn = marksSoFar()
    this.#garbageMs = 0
    this.#schedule()
  }

  #tell(stallMs: number, now: number): void {
    if (now - this.#toldAt < quietMs && stallMs < 2 * this.#toldMs) {
      this.#untold++
      return
    }
    this.#countGarbage(this.#observer?.takeRecords() ?? [])
    const { loop, log, watchGarbage } = this.#options
    const facts = {
      loop,
      stallMs: Math.round(stallMs),
      ...(watchGarbage && { garbageMs: Math.round(this.#garbageMs) }),
      began: marksSince(this.#marksAtLastTurn),
      ...(this.#untold > 0 && { stallsNotTold: this.#untold }),
    }
    log.warn(facts, `the ${loop} loop did not turn for ${Math.round(stallMs)} ms`)
    this.#toldAt = now
    this.#toldMs = stallMs
    this.#untold = 0
  }

  #countGarbage(entries: ReadonlyArray<{ readonly duration: number }>): void {
    for (const { duration } of entries) this.#garbageMs += duration
  }
}
