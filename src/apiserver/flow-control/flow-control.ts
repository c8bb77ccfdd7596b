import type { Clock } from '../../foundation/clock.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { StatusError } from '../../resources/status-error.ts'
import { FairShares } from './fair-shares.ts'
import { FlowMetrics, type RefusalReason } from './flow-metrics.ts'
import { LoopTurns, type WorkSpan } from './loop-turns.ts'
import { type Caller, type LevelName, priorityLevels } from './priority-levels.ts'

export interface FlowLimits {
  /** Requests that are being answered or waiting, without watches and logs. */
  readonly requestsInFlight: number
  /** Bytes of bodies that have arrived and are not dealt with yet. */
  readonly bodyBytesInFlight: number
  /** Items of lists that are being sent: a list is held in memory until it is sent. */
  readonly listItemsInFlight: number
  /** How long a request may wait for its turn. */
  readonly queueMs: number
  readonly turnMs: number
  readonly sliceMs: number
}

export const defaultFlowLimits: FlowLimits = {
  requestsInFlight: 2_000,
  bodyBytesInFlight: 128 * 1024 * 1024,
  listItemsInFlight: 2_000_000,
  queueMs: 15_000,
  turnMs: 6,
  sliceMs: 3,
}

export interface FlowControlOptions {
  readonly limits: FlowLimits
  readonly clock: Clock
  readonly metrics: Metrics
  readonly now?: (() => number) | undefined
}

/** The work of the connection for a request and its answer, which cannot be measured. */
const overheadMs = 0.02

/** Shorter lists are not counted. */
export const fewItems = 1_000

/** Tells long work whether to go on, and lets it wait for its next turn. */
export interface Turns {
  readonly isOver: boolean
  next(): Promise<void>
}

/**
 * API priority and fairness for one event loop. Every caller belongs to a priority level, and to a flow within it. A
 * flow that uses more than its share (requests in flight, bytes of bodies, items of lists) is told to come again later;
 * the time of the event loop goes to the flow that has used least of it; and writes that wait for the disk are counted
 * per level and flow, so that nobody queues behind another's.
 */
export class FlowControl {
  readonly #limits: FlowLimits
  readonly #clock: Clock
  readonly #metrics: FlowMetrics
  readonly turns: LoopTurns
  readonly requests: FairShares
  readonly bytes: FairShares
  readonly items: FairShares
  readonly #writes: ReadonlyMap<LevelName, FairShares>

  constructor({ limits, clock, metrics, now = () => performance.now() }: FlowControlOptions) {
    this.#limits = limits
    this.#clock = clock
    const { turnMs, sliceMs } = limits
    this.turns = new LoopTurns({
      levels: priorityLevels,
      turnMs,
      sliceMs,
      now,
      inNextTurn: (callback) => void setImmediate(callback),
      onCharge: ({ level }, ms) => this.#metrics.used(level, ms),
    })
    this.#metrics = new FlowMetrics(metrics, (level) => this.turns.queue.sizeOf(level))
    this.requests = new FairShares(limits.requestsInFlight)
    this.bytes = new FairShares(limits.bodyBytesInFlight)
    this.items = new FairShares(limits.listItemsInFlight)
    this.#writes = new Map(priorityLevels.map(({ name, writes }) => [name, new FairShares(writes)]))
  }

  /** Admits a request that has arrived. Throws TooManyRequests. */
  arrive(caller: Caller): FlowTicket {
    if (!this.requests.take(caller.flow)) {
      const count = this.requests.heldBy(caller.flow)
      throw this.refusal(caller, 'requests', `${count} requests of ${whoIs(caller)} are being answered already`)
    }
    return new FlowTicket(this, caller)
  }

  writesOf(level: LevelName): FairShares | undefined {
    return this.#writes.get(level)
  }

  /** Resolves when it is this caller's turn. */
  waitForTurn(caller: Caller, seats: FairShares | undefined, begin: () => void): Promise<void> {
    const { queueMs } = this.#limits
    const since = this.#clock.now()
    return new Promise((resolve, reject) => {
      const go = () => {
        cancel()
        this.#metrics.waited(caller.level, this.#clock.now() - since)
        begin()
        resolve()
      }
      const waiter = { caller, mayGo: () => !seats || seats.fits(caller.flow), go }
      const cancel = this.#clock.after(queueMs, () => {
        if (!this.turns.queue.remove(caller, waiter)) return
        const why = `after ${queueMs / 1000} s it was still not the turn of a request of ${whoIs(caller)}`
        reject(this.refusal(caller, 'deadline', why))
      })
      // A write may also have to wait for the disk, and reads of the same flow must not queue behind it.
      this.turns.wait(waiter, { apart: seats !== undefined })
    })
  }

  refusal(caller: Caller, reason: RefusalReason, why: string): StatusError {
    this.#metrics.refused(caller.level, reason)
    const message = `the server has received too many requests and has asked us to try again later: ${why}`
    return new StatusError('TooManyRequests', message, { retryAfterSeconds: 1 })
  }
}

/** What one request holds: its place, its share of what is bounded, and its turns at the event loop. */
export class FlowTicket implements Turns {
  readonly #control: FlowControl
  readonly #caller: Caller
  #span: WorkSpan | undefined
  #bytes = 0
  #items = 0
  #writes = false
  #hasPlace = true

  constructor(control: FlowControl, caller: Caller) {
    this.#control = control
    this.#caller = caller
  }

  /** Counts a part of the body that has arrived. Throws TooManyRequests. */
  bookBytes(count: number): void {
    const { bytes } = this.#control
    if (!this.#hasPlace) return
    if (!bytes.take(this.#caller.flow, count)) {
      const held = Math.ceil(bytes.heldBy(this.#caller.flow) / (1024 * 1024))
      const why = `bodies of ${held} MiB from ${whoIs(this.#caller)} are being dealt with already`
      throw this.#control.refusal(this.#caller, 'bytes', why)
    }
    this.#bytes += count
  }

  /** Counts the items of a list that is about to be sent. Throws TooManyRequests. */
  bookItems(count: number): void {
    const { items } = this.#control
    if (!this.#hasPlace || count < fewItems) return
    if (!items.take(this.#caller.flow, count)) {
      const why = `lists of ${items.heldBy(this.#caller.flow)} objects are being sent to ${whoIs(this.#caller)} already`
      throw this.#control.refusal(this.#caller, 'items', why)
    }
    this.#items += count
  }

  /**
   * `undefined`: go on at once. Otherwise the promise resolves when it is this request's turn, or rejects with
   * TooManyRequests.
   */
  enter(writes: boolean): Promise<void> | undefined {
    const { turns } = this.#control
    const seats = writes ? this.#control.writesOf(this.#caller.level) : undefined
    const { flow } = this.#caller
    turns.charge(this.#caller, overheadMs)
    if (turns.isFree && (!seats || seats.fits(flow))) return this.#begin(seats)
    return this.#control.waitForTurn(this.#caller, seats, () => this.#begin(seats))
  }

  #begin(seats: FairShares | undefined): undefined {
    if (seats) this.#writes = seats.take(this.#caller.flow)
    this.#span = this.#control.turns.begin(this.#caller)
  }

  /** Whether to let others go on before doing more. */
  get isOver(): boolean {
    return !this.#span || this.#control.turns.isOver(this.#span)
  }

  /** Whether requests have used up their time in this turn of the loop, whoever made them. */
  get isCrowded(): boolean {
    return this.#control.turns.isCrowded
  }

  /** Work that has begun goes on before the flow's other requests. */
  next(): Promise<void> {
    const { turns } = this.#control
    if (this.#span) turns.end(this.#span)
    return new Promise((resolve) => {
      const go = () => {
        this.#span = turns.begin(this.#caller)
        resolve()
      }
      turns.wait({ caller: this.#caller, mayGo: () => true, go }, { first: true })
    })
  }

  /** Runs something short that is not being measured otherwise. */
  measure<T>(work: () => T): T {
    const { turns } = this.#control
    const startedAt = turns.now()
    try {
      return work()
    } finally {
      turns.charge(this.#caller, turns.now() - startedAt)
    }
  }

  /** Called when the request is answered or has become a stream: releases what it held. */
  leave(): void {
    if (!this.#hasPlace) return
    this.#hasPlace = false
    const { flow, level } = this.#caller
    this.#control.requests.giveBack(flow)
    if (this.#bytes > 0) this.#control.bytes.giveBack(flow, this.#bytes)
    if (this.#items > 0) this.#control.items.giveBack(flow, this.#items)
    if (!this.#writes) return
    this.#control.writesOf(level)?.giveBack(flow)
    this.#control.turns.nudge()
  }
}

/** The user and the namespace, for messages. */
function whoIs({ flow }: Caller): string {
  return flow.slice(flow.indexOf(' ') + 1).trim()
}
