import { backoffMs } from '../../../cluster/pace/backoff.ts'
import type { CancelTimer, Clock } from '../../../foundation/clock.ts'
import { errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'
import type { FilterTool } from '../filter-tool.ts'
import { type TableParts, transaction } from './rule-text.ts'

export interface RuleApplierOptions {
  /** Its family and name: `inet sluice_1`. */
  readonly table: string
  readonly tool: FilterTool
  /** What the table should be, now. */
  parts(): TableParts
  /** Done each time that the rules are found or made in force, before anybody is told so. */
  afterwards?(): Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** Changes come in bursts: a rollout changes slices, Pods and labels at once. */
const gatherMs = { least: 50, most: 1_000 }
/**
 * A table of a thousand Pods takes a while to make: so many times as long is waited before it is made again, unless
 * somebody waits.
 */
const restTimes = 4
const retryLimits = { firstMs: 200, longestMs: 30_000 }
/** Whoever reloads the machine's firewall takes our table with theirs: it is looked for again and again. */
const lookMs = 30_000
/** The one chain that is always there. */
const firstChain = 'guard'

/**
 * The owner of this node's table in the machine's packet filter: nobody else writes it, and one change is made at a
 * time.
 */
export class RuleApplier {
  readonly #options: RuleApplierOptions
  /** Counts what was asked for; what is in force has the number that was newest when it was made. */
  #asked = 0
  #inForce = 0
  #previous: { readonly parts: TableParts; readonly text: string } | undefined
  #working: Promise<void> | undefined
  #timer: { readonly at: number; cancel: CancelTimer } | undefined
  #failures = 0
  #gatherMs = gatherMs.least
  #waiting: Array<{ readonly number: number; resolve(): void; reject(error: Error): void }> = []
  #closed = false
  #problem: string | undefined

  constructor(options: RuleApplierOptions) {
    this.#options = options
  }

  /** Why the rules are not what they should be, if they are not. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Something has changed: it will be in force soon. */
  changed(): void {
    this.#asked += 1
    if (this.#failures === 0) this.#wakeIn(this.#gatherMs)
  }

  /**
   * Makes everything that has changed be in force; throws where that does not succeed. It is tried again in any case.
   */
  async settle(): Promise<void> {
    if (this.#closed) throw new Error('the rules of the network are no longer kept')
    const number = ++this.#asked
    const settled = new Promise<void>((resolve, reject) => this.#waiting.push({ number, resolve, reject }))
    this.#work()
    await settled
  }

  /** Ends the work; with `remove` the table goes too. */
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

  /** The sooner of what was planned and this. */
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
      await this.#options.afterwards?.()
      if (this.#problem !== undefined) log.info({ table }, 'the rules of the network are in force again')
      this.#failures = 0
      this.#problem = undefined
      this.#inForce = number
      this.#gatherMs = Math.min(gatherMs.most, Math.max(gatherMs.least, restTimes * (clock.now() - begunAt)))
      this.#answer((waiter) => waiter.resolve(), number)
    } catch (error) {
      this.#failures += 1
      // Nobody knows what is there now: the next time everything is made anew.
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

  #answer(how: (waiter: { resolve(): void; reject(error: Error): void }) => void, upTo: number): void {
    const done = this.#waiting.filter(({ number }) => number <= upTo)
    this.#waiting = this.#waiting.filter(({ number }) => number > upTo)
    for (const waiter of done) how(waiter)
  }
}
