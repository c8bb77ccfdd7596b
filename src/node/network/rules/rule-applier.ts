import { backoffMs } from '../../../cluster/pace/backoff.ts'
import type { CancelTimer, Clock } from '../../../foundation/clock.ts'
import { errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'
import type { FilterTool } from '../filter-tool.ts'
import { type TableParts, transaction } from './rule-text.ts'

export interface RuleApplierOptions {
  /** The table's family and name: `inet sluice_1`. */
  readonly table: string
  readonly tool: FilterTool
  /** Returns what the table should contain now. */
  parts(): TableParts
  /** Called each time the rules are in force, before those are told so who wait for everything. */
  afterwards?(): Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

interface Waiter {
  readonly number: number
  readonly forRulesOnly: boolean
  resolve(): void
  reject(error: Error): void
}

/** How long to gather changes, which come in bursts: a rollout changes slices, Pods and labels at once. */
const gatherMs = { least: 50, most: 1_000 }
/**
 * After applying, rests this many times as long as that took (a table of a thousand Pods takes a while), unless
 * somebody waits.
 */
const restTimes = 4
const retryLimits = { firstMs: 200, longestMs: 30_000 }
/** How often to check that the table still exists: reloading the machine's firewall removes it. */
const lookMs = 30_000
/** A chain that always exists. */
const firstChain = 'guard'

/** Owns this node's table in the packet filter: nobody else writes it, and changes are made one at a time. */
export class RuleApplier {
  readonly #options: RuleApplierOptions
  /** Counts requested changes; `#inForce` is the count that the current rules include. */
  #asked = 0
  #inForce = 0
  #previous: { readonly parts: TableParts; readonly text: string } | undefined
  #working: Promise<void> | undefined
  #timer: { readonly at: number; cancel: CancelTimer } | undefined
  #failures = 0
  #gatherMs = gatherMs.least
  #waiting: Waiter[] = []
  #closed = false
  #problem: string | undefined

  constructor(options: RuleApplierOptions) {
    this.#options = options
  }

  /** Why the rules are not in force, if they are not. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Tells that something has changed; it is applied soon. */
  changed(): void {
    this.#asked += 1
    if (this.#failures === 0) this.#wakeIn(this.#gatherMs)
  }

  /** Applies all changes so far; throws if that fails. Failed changes are retried in any case. */
  settle(): Promise<void> {
    return this.#wait(false)
  }

  /** The same, without what comes afterwards. */
  inForce(): Promise<void> {
    return this.#wait(true)
  }

  async #wait(forRulesOnly: boolean): Promise<void> {
    if (this.#closed) throw new Error('the rules of the network are no longer kept')
    const number = ++this.#asked
    const settled = new Promise<void>((resolve, reject) =>
      this.#waiting.push({ number, forRulesOnly, resolve, reject }),
    )
    this.#work()
    await settled
  }

  /** Stops; with `remove` the table is deleted, too. */
  async close(remove: boolean): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#working
    this.#answer((waiter) => waiter.reject(new Error('the rules of the network are no longer kept')), Infinity)
    if (!remove) return
    const { table, tool, log } = this.#options
    await tool.apply(`add table ${table}\ndelete table ${table}\n`).catch((error: unknown) => {
      log.warn({ err: error, table }, 'the rules of the network cannot be taken away')
    })
  }

  /** Wakes after `ms`, unless it wakes sooner anyway. */
  #wakeIn(ms: number): void {
    const { clock } = this.#options
    const at = clock.now() + ms
    if (this.#closed || this.#working || (this.#timer && this.#timer.at <= at)) return
    this.#timer?.cancel()
    this.#timer = { at, cancel: clock.after(ms, () => this.#work()) }
  }

  #work(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#closed || this.#working) return
    this.#working = this.#turn().finally(() => {
      this.#working = undefined
      if (this.#failures > 0) this.#wakeIn(backoffMs(this.#failures, Math.random(), retryLimits))
      else if (this.#inForce === this.#asked) this.#wakeIn(lookMs)
      else if (this.#waiting.length > 0) this.#work()
      else this.#wakeIn(this.#gatherMs)
    })
  }

  async #turn(): Promise<void> {
    const { table, clock, log } = this.#options
    const number = this.#asked
    const begunAt = clock.now()
    try {
      await this.#apply(number === this.#inForce)
      this.#answer((waiter) => waiter.resolve(), number, true)
      await this.#options.afterwards?.()
      if (this.#problem !== undefined) log.info({ table }, 'the rules of the network are in force again')
      this.#failures = 0
      this.#problem = undefined
      this.#inForce = number
      this.#gatherMs = Math.min(gatherMs.most, Math.max(gatherMs.least, restTimes * (clock.now() - begunAt)))
      this.#answer((waiter) => waiter.resolve(), number)
    } catch (error) {
      this.#failures += 1
      // The table's state is unknown now, so next time everything is written anew.
      this.#previous = undefined
      const problem = errorMessage(error)
      if (problem !== this.#problem) log.warn({ err: error, table }, 'the rules of the network cannot be changed')
      this.#problem = problem
      this.#answer(
        (waiter) => waiter.reject(new Error(`the rules of the network cannot be changed: ${problem}`)),
        number,
      )
    }
  }

  async #apply(isLook: boolean): Promise<void> {
    const { table, tool, log } = this.#options
    if (isLook && this.#previous && !(await tool.hasChain(`${table} ${firstChain}`))) {
      log.warn({ table }, 'somebody took the rules of the network away; they are made anew')
      this.#previous = undefined
    }
    const next = this.#options.parts()
    const text = transaction(table, next)
    if (text === this.#previous?.text) return
    await tool.apply(this.#previous ? transaction(table, next, this.#previous.parts) : text)
    this.#previous = { parts: next, text }
  }

  #answer(how: (waiter: Waiter) => void, upTo: number, forRulesOnly = false): void {
    const isDone = (waiter: Waiter) => waiter.number <= upTo && (waiter.forRulesOnly || !forRulesOnly)
    const done = this.#waiting.filter(isDone)
    this.#waiting = this.#waiting.filter((waiter) => !isDone(waiter))
    for (const waiter of done) how(waiter)
  }
}
