import type { Clock } from '../../foundation/clock.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { StatusError } from '../../resources/status-error.ts'
import { FairShares } from './fair-shares.ts'
import { FlowMetrics, type RefusalReason } from './flow-metrics.ts'
import { LoopTurns, type WorkSpan } from './loop-turns.ts'
import { type Caller, type LevelName, priorityLevels } from './priority-levels.ts'

export interface FlowLimits {
  /** Requests that are being answered or wait for it, without watches and logs. */
  readonly requestsInFlight: number
  /** Of bodies that have arrived and are not dealt with yet. */
  readonly bodyBytesInFlight: number
  /** Of lists that are being sent: each holds what it lists until it is through. */
  readonly listItemsInFlight: number
  /** How long a request waits for its turn. */
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

/** What no measure shows: the connection's own work for a request and its answer. */
const overheadMs = 0.02

/** Lists shorter than this are not counted. */
export const fewItems = 1_000

/** Long work asks it whether to go on, and waits for its next turn where not. */
export interface Turns {
  readonly isOver: boolean
  next(): Promise<void>
}

/**
 * API priority and fairness for one event loop. Who asks belongs to a level and a flow in it. A flow that asks for more
 * than its share (requests under way, bytes of bodies, items of lists) is asked to come again; the loop's time goes in
 * turn to the flow that has used least of it; writes that wait for the disk are counted per level and flow, so that
 * nobody waits behind another's.
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

  /** A request has arrived. Throws TooManyRequests. */
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
      // A write may have to wait for the disk: reads of the same flow do not stand behind it.
      this.turns.wait(waiter, { apart: seats !== undefined })
    })
  }

  refusal(caller: Caller, reason: RefusalReason, why: string): StatusError {
    this.#metrics.refused(caller.level, reason)
    const message = `the server has received too many requests and has asked us to try again later: ${why}`
    return new StatusError('TooManyRequests', message, { retryAfterSeconds: 1 })
  }
}

/** One request's place, its share of what is bounded, and its turns at the loop. */
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

  /** More of its body has arrived. Throws TooManyRequests. */
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

  /** A list of so many is about to be sent. Throws TooManyRequests. */
  bookItems(count: number): void {
    const { items } = this.#control
    if (!this.#hasPlace || count < fewItems) return
    if (!items.take(this.#caller.flow, count)) {
      const why = `lists of ${items.heldBy(this.#caller.flow)} objects are being sent to ${whoIs(this.#caller)} already`
      throw this.#control.refusal(this.#caller, 'items', why)
    }
    this.#items += count
  }

  /** `undefined`: go on at once. Otherwise it is its turn when the promise resolves; rejects with TooManyRequests. */
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

  /** Whether requests have had their time in this turn of the loop, whoever made them. */
  get isCrowded(): boolean {
    return this.#control.turns.isCrowded
  }

  /** What has been begun goes on before what its flow has not begun yet. */
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

  /** Does something short that nobody measures yet. */
  measure<T>(work: () => T): T {
    const { turns } = this.#control
    const startedAt = turns.now()
    try {
      return work()
    } finally {
      turns.charge(this.#caller, turns.now() - startedAt)
    }
  }

  /** It is answered, or has become a stream: what it held is free for others. */
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

/** The user, and where. */
function whoIs({ flow }: Caller): string {
  return flow.slice(flow.indexOf(' ') + 1).trim()
}
