import type { Caller, PriorityLevel } from './priority-levels.ts'
import type { QueuePlace } from './fair-queue.ts'
import { LevelQueue } from './level-queue.ts'

/** How much of the event loop requests may have at a time. */
export interface LoopTurnLimits {
  /** For all requests together, before the loop's other work comes first. */
  readonly turnMs: number
  /** For one request, before it is another's turn. */
  readonly sliceMs: number
}

export interface LoopTurnOptions extends LoopTurnLimits {
  readonly levels: readonly PriorityLevel[]
  /** In milliseconds; only differences matter. */
  readonly now: () => number
  /** Calls back in the next turn of the event loop. */
  readonly inNextTurn: (callback: () => void) => void
  readonly onCharge?: (caller: Caller, ms: number) => void
}

/** Something that waits for time on the event loop. */
export interface Waiter {
  readonly caller: Caller
  /** Whether it could go on if it were its turn. */
  mayGo(): boolean
  go(): void
}

export interface WorkSpan {
  readonly caller: Caller
  readonly startedAt: number
  readonly chargedBefore: number
  isOpen: boolean
}

/** Less work than this in a turn is not worth a callback in the next one. */
const noticedMs = 2

/**
 * Shares the time of the event loop. Work is measured from its start until it has nothing left to do in this turn, and
 * is charged to its flow. While all work together stays below a bound per turn, nobody waits; beyond it, new work waits
 * until the loop has turned, and the flow that has used least goes first.
 */
export class LoopTurns {
  readonly #options: LoopTurnOptions
  readonly queue: LevelQueue<Waiter>
  #spentMs = 0
  #chargedMs = 0
  #span: WorkSpan | undefined
  #isScheduled = false
  #isServing = false

  constructor(options: LoopTurnOptions) {
    this.#options = options
    this.queue = new LevelQueue(options.levels)
  }

  /** Whether new work can begin without waiting. */
  get isFree(): boolean {
    return this.queue.size === 0 && !this.isCrowded
  }

  /** Whether requests have used up their time in this turn. */
  get isCrowded(): boolean {
    const running = this.#span ? this.#options.now() - this.#span.startedAt : 0
    return this.#spentMs + running >= this.#options.turnMs
  }

  wait(waiter: Waiter, place: QueuePlace = {}): void {
    this.queue.add(waiter.caller, waiter, place)
    this.#schedule()
  }

  /** Called when something that a waiter may have waited for is available again. */
  nudge(): void {
    if (this.queue.size > 0) this.#schedule()
  }

  /**
   * Begins to measure: until everything that follows from it in this turn is done, until `end`, or until other work
   * begins.
   */
  begin(caller: Caller): WorkSpan {
    // Requests that arrive together begin one after the other, before the first has done all it can.
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
    // Time that was meanwhile charged to others does not count for this one.
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

  /** One after the other, each until it has nothing left to do now, so that each is measured by itself. */
  #serve(): void {
    const waiter = this.isCrowded ? undefined : this.queue.next((_flow, candidate) => candidate.mayGo())
    this.#isServing = waiter !== undefined
    if (!waiter) {
      // Waiters that wait for something other than their turn are nudged when it is available.
      if (this.isCrowded && this.queue.size > 0) this.#schedule()
      return
    }
    waiter.go()
    afterMicrotasks(() => this.#serve())
  }
}

/**
 * Calls back when all promises that are settled now have been followed up: a tick requested by a microtask comes after
 * all of them.
 */
function afterMicrotasks(callback: () => void): void {
  queueMicrotask(() => process.nextTick(callback))
}
