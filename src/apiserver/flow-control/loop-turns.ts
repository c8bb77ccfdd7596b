import type { Caller, PriorityLevel } from './priority-levels.ts'
import type { QueuePlace } from './fair-queue.ts'
import { LevelQueue } from './level-queue.ts'

/** How much of the event loop requests may have at a time. */
export interface LoopTurnLimits {
  /** All of them together, before whatever else the loop has to do comes first. */
  readonly turnMs: number
  /** One of them, before another's turn. */
  readonly sliceMs: number
}

export interface LoopTurnOptions extends LoopTurnLimits {
  readonly levels: readonly PriorityLevel[]
  /** Milliseconds; only differences count. */
  readonly now: () => number
  /** Calls back in the next turn of the event loop. */
  readonly inNextTurn: (callback: () => void) => void
  readonly onCharge?: (caller: Caller, ms: number) => void
}

/** Somebody who wants some of the loop's time. */
export interface Waiter {
  readonly caller: Caller
  /** Whether it could go on, if it were its turn. */
  mayGo(): boolean
  go(): void
}

/** A stretch of work that is being measured. */
export interface WorkSpan {
  readonly caller: Caller
  readonly startedAt: number
  readonly chargedBefore: number
  isOpen: boolean
}

/** Below this it is not worth noticing that a turn has passed. */
const noticedMs = 2

/**
 * Shares the time of the event loop. Work is measured, from its start until nothing of it is left to do in this turn,
 * and counts against its flow; while all of it together stays below a bound per turn nobody waits for anything. Beyond,
 * who wants to work waits until the loop has turned, and is taken in the order of who has used least.
 */
export class LoopTurns {
  readonly #options: LoopTurnOptions
  readonly queue: LevelQueue<Waiter>
  #spentMs = 0
  #chargedMs = 0
  /** What is being measured. */
  #span: WorkSpan | undefined
  #isScheduled = false
  #isServing = false

  constructor(options: LoopTurnOptions) {
    this.#options = options
    this.queue = new LevelQueue(options.levels)
  }

  /** Whether somebody who comes now need not wait. */
  get isFree(): boolean {
    return this.queue.size === 0 && !this.isCrowded
  }

  /** Whether requests have had their time in this turn. */
  get isCrowded(): boolean {
    const running = this.#span ? this.#options.now() - this.#span.startedAt : 0
    return this.#spentMs + running >= this.#options.turnMs
  }

  wait(waiter: Waiter, place: QueuePlace = {}): void {
    this.queue.add(waiter.caller, waiter, place)
    this.#schedule()
  }

  /** Something that a waiter may have waited for is there again. */
  nudge(): void {
    if (this.queue.size > 0) this.#schedule()
  }

  /**
   * Measures what is done from now on until all that follows from it in this turn is done,
   * it is ended or another begins.
   */
  begin(caller: Caller): WorkSpan {
    // Several may begin before the first has done all it can, as requests that arrive together do.
    if (this.#span) this.end(this.#span)
    const span = { caller, startedAt: this.#options.now(), chargedBefore: this.#chargedMs, isOpen: true }
    this.#span = span
    afterMicrotasks(() => this.end(span))
    return span
  }

  end(span: WorkSpan): void {
    if (!span.isOpen) return
    span.isOpen = false
    if (this.#span === span) this.#span = undefined
    // What others were charged for meanwhile was not its own doing.
    const others = this.#chargedMs - span.chargedBefore
    this.charge(span.caller, Math.max(0, this.#options.now() - span.startedAt - others))
  }

  isOver(span: WorkSpan): boolean {
    return !span.isOpen || this.#options.now() - span.startedAt >= this.#options.sliceMs
  }

  now(): number {
    return this.#options.now()
  }

  charge(caller: Caller, ms: number): void {
    this.#spentMs += ms
    this.#chargedMs += ms
    this.queue.charge(caller, ms)
    this.#options.onCharge?.(caller, ms)
    if (this.#spentMs > noticedMs) this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#options.inNextTurn(this.#turned)
  }

  readonly #turned = (): void => {
    this.#isScheduled = false
    this.#spentMs = 0
    this.queue.forgetIdle()
    if (!this.#isServing) this.#serve()
  }

  /** One after the other, each until nothing of it is left to do now: so each is measured by itself. */
  #serve(): void {
    const waiter = this.isCrowded ? undefined : this.queue.next((_flow, candidate) => candidate.mayGo())
    this.#isServing = waiter !== undefined
    if (!waiter) {
      // Those who wait for something else than their turn are nudged when it is there.
      if (this.isCrowded && this.queue.size > 0) this.#schedule()
      return
    }
    waiter.go()
    afterMicrotasks(() => this.#serve())
  }
}

/**
 * When every promise that is settled now has been followed up: a tick that is asked for by a
 * microtask comes after all of them.
 */
function afterMicrotasks(callback: () => void): void {
  queueMicrotask(() => process.nextTick(callback))
}
