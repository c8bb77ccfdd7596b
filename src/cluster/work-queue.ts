import type { CancelTimer, Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { linkSignals } from '../foundation/linked-signal.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import { LoopTurns } from '../foundation/loop-turns.ts'
import { type ObjectRef, keyOf } from '../resources/object-ref.ts'
import { isStatusError } from '../resources/status-error.ts'
import { controllerFigures } from './controller-figures.ts'
import { HotLoopBrake } from './pace/hot-loop-brake.ts'
import { RetryPace } from './pace/retry-pace.ts'

/** What is worked on: mostly an object; a word where the work is not about a single object. */
export type WorkItem = ObjectRef | string

/** Brings the world behind an item to its desired state. Throwing means: try again later. */
export type Reconcile<Item extends WorkItem = ObjectRef> = (
  item: Item,
  signal: AbortSignal,
  // oxlint-disable-next-line typescript/no-invalid-void-type -- a reconciler with nothing to say returns nothing
) => Promise<{ requeueAfterMs?: number } | void>

export interface WorkQueueOptions<Item extends WorkItem = ObjectRef> {
  readonly name: string
  readonly reconcile: Reconcile<Item>
  readonly clock: Clock
  readonly log: Logger
  /** How many items are worked on at once; the same item never twice at once. */
  readonly concurrency?: number
  /** A reconcile that takes longer has its signal aborted and counts as failed. */
  readonly deadlineMs?: number
  readonly random?: () => number
}

/**
 * Items waiting to be reconciled. Each is in the queue once, however often it is added, so its size is bounded by the
 * number of objects; an item that is added while it is worked on runs once more afterwards. Failures are retried at the
 * pace of `RetryPace`, items that are added endlessly run at that of `HotLoopBrake`, and the event loop turns however
 * much there is to do.
 */
export class WorkQueue<Item extends WorkItem = ObjectRef> {
  readonly #options: Required<WorkQueueOptions<Item>>
  /** By key, like everything here: two references are equal if they name the same object. */
  readonly #ready = new Map<string, Item>()
  readonly #active = new Set<string>()
  readonly #again = new Set<string>()
  readonly #pace = new RetryPace()
  readonly #brake = new HotLoopBrake()
  readonly #turns: LoopTurns
  readonly #delayed = new Map<string, { readonly dueAt: number; readonly cancel: CancelTimer }>()
  #wake: (() => void) | undefined
  #stopped = false

  constructor(options: WorkQueueOptions<Item>) {
    this.#options = { concurrency: 1, deadlineMs: 120_000, random: Math.random, ...options }
    this.#turns = new LoopTurns(options.clock)
  }

  /** There is news of the item. If it is failing, it is retried sooner, but not at once. */
  add(item: Item): void {
    const key = keyOfItem(item)
    if (this.#ready.has(key)) return
    const waitMs = this.#active.has(key) ? 0 : this.#pace.waitAfterNewsMs(key, this.#options.clock.now())
    if (waitMs > 0) this.addAfter(item, waitMs)
    else this.#addNow(key, item)
  }

  /** Somebody waits for the item, so it runs now, whether or not it failed before. */
  addAtOnce(item: Item): void {
    this.#addNow(keyOfItem(item), item)
  }

  #addNow(key: string, item: Item): void {
    if (this.#stopped) return
    this.#delayed.get(key)?.cancel()
    this.#delayed.delete(key)
    if (this.#active.has(key)) this.#again.add(key)
    else this.#ready.set(key, item)
    this.#wake?.()
  }

  /** Adds the item later, unless it is already due earlier. */
  addAfter(item: Item, delayMs: number): void {
    if (this.#stopped) return
    if (delayMs <= 0) return this.add(item)
    const key = keyOfItem(item)
    const dueAt = this.#options.clock.now() + delayMs
    const pending = this.#delayed.get(key)
    if (pending && pending.dueAt <= dueAt) return
    pending?.cancel()
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#delayed.delete(key)
      this.#addNow(key, item)
    })
    this.#delayed.set(key, { dueAt, cancel })
  }

  /** Works until the signal is aborted, then waits for the work in progress, which gets the signal, too. */
  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>()
    const onAbort = () => this.#wake?.()
    signal.addEventListener('abort', onAbort)
    try {
      while (!signal.aborted) {
        const next = running.size < this.#options.concurrency ? this.#take() : undefined
        if (!next) {
          await this.#nextChange(signal)
          continue
        }
        const turn = this.#turns.next()
        if (turn) await turn
        if (signal.aborted) break
        const [key, item] = next
        const work: Promise<void> = this.#work(key, item, signal).then(() => {
          running.delete(work)
          this.#finish(key, item)
        })
        running.add(work)
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#stopped = true
      for (const { cancel } of this.#delayed.values()) cancel()
      this.#delayed.clear()
      await Promise.all(running)
    }
  }

  /** The next item that may run now; those that ran too often wait a little longer. */
  #take(): readonly [key: string, item: Item] | undefined {
    const { clock, name, log } = this.#options
    for (const next of this.#ready) {
      const [key, item] = next
      this.#ready.delete(key)
      const { waitMs, begins } = this.#brake.admit(key, clock.now())
      if (begins) {
        controllerFigures.braked.count(name)
        log.warn({ queue: name, key }, 'reconciled again and again although nothing fails; it is held back from now on')
      }
      if (waitMs > 0) {
        this.addAfter(item, waitMs)
        continue
      }
      this.#active.add(key)
      return next
    }
    return undefined
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined
        resolve()
      }
      if (signal.aborted) this.#wake()
    })
  }

  #finish(key: string, item: Item): void {
    this.#active.delete(key)
    if (this.#again.delete(key)) this.add(item)
    this.#wake?.()
  }

  async #work(key: string, item: Item, signal: AbortSignal): Promise<void> {
    const { clock, deadlineMs, name, log, random } = this.#options
    markLoop(name, key)
    const linked = linkSignals(signal)
    const overdue = () => linked.abort(new Error(`${name} ${key}: not done in ${deadlineMs} ms`))
    const cancel = clock.after(deadlineMs, overdue)
    try {
      const outcome = await this.#options.reconcile(item, linked.signal)
      this.#pace.succeeded(key)
      if (outcome?.requeueAfterMs !== undefined) this.addAfter(item, outcome.requeueAfterMs)
    } catch (error) {
      if (signal.aborted) return
      const { failures, waitMs } = this.#pace.failed(key, clock.now(), random())
      controllerFigures.retries.count(name)
      // Somebody else wrote first: normal with optimistic concurrency, not a problem.
      const level = isStatusError(error, 'Conflict') ? 'debug' : 'warn'
      log[level]({ queue: name, key, failures, retryMs: waitMs, err: error }, 'reconcile failed; trying again')
      this.addAfter(item, waitMs)
    } finally {
      cancel()
      linked.release()
    }
  }
}

function keyOfItem(item: WorkItem): string {
  return typeof item === 'string' ? item : keyOf(item)
}
