import type { CancelTimer, Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { linkSignals } from '../foundation/linked-signal.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import { LoopTurns } from '../foundation/loop-turns.ts'
import { isStatusError } from '../resources/status-error.ts'
import { controllerFigures } from './controller-figures.ts'
import { HotLoopBrake } from './pace/hot-loop-brake.ts'
import { RetryPace } from './pace/retry-pace.ts'

/** Brings the world behind a key to its desired state. Throwing means: try again later. */
// oxlint-disable-next-line typescript/no-invalid-void-type -- a reconciler with nothing to say returns nothing
export type Reconcile = (key: string, signal: AbortSignal) => Promise<{ requeueAfterMs?: number } | void>

export interface WorkQueueOptions {
  readonly name: string
  readonly reconcile: Reconcile
  readonly clock: Clock
  readonly log: Logger
  /** How many keys are worked on at once; the same key never twice at once. */
  readonly concurrency?: number
  /** A reconcile that takes longer has its signal aborted and counts as failed. */
  readonly deadlineMs?: number
  readonly random?: () => number
}

/**
 * Keys waiting to be reconciled. A key is in it once, however often it is added, so its size is bounded by the number of
 * objects; a key added while it is worked on runs once more afterwards. What fails is tried again at `RetryPace`, what is added for
 * ever at that of `HotLoopBrake`, and the event loop turns whatever there is to do.
 */
export class WorkQueue {
  readonly #options: Required<WorkQueueOptions>
  readonly #ready = new Set<string>()
  readonly #active = new Set<string>()
  readonly #again = new Set<string>()
  readonly #pace = new RetryPace()
  readonly #brake = new HotLoopBrake()
  readonly #turns: LoopTurns
  readonly #delayed = new Map<string, { readonly dueAt: number; readonly cancel: CancelTimer }>()
  #wake: (() => void) | undefined
  #stopped = false

  constructor(options: WorkQueueOptions) {
    this.#options = { concurrency: 1, deadlineMs: 120_000, random: Math.random, ...options }
    this.#turns = new LoopTurns(options.clock)
  }

  /** There is news of the key. One that fails is tried again sooner for it, but not at once. */
  add(key: string): void {
    if (this.#ready.has(key)) return
    const waitMs = this.#active.has(key) ? 0 : this.#pace.waitAfterNewsMs(key, this.#options.clock.now())
    if (waitMs > 0) this.addAfter(key, waitMs)
    else this.addAtOnce(key)
  }

  /** Somebody waits for the key: whether it failed before does not matter. */
  addAtOnce(key: string): void {
    if (this.#stopped) return
    this.#delayed.get(key)?.cancel()
    this.#delayed.delete(key)
    if (this.#active.has(key)) this.#again.add(key)
    else this.#ready.add(key)
    this.#wake?.()
  }

  /** Adds the key later; when it is already due earlier, that stands. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stopped) return
    if (delayMs <= 0) return this.add(key)
    const dueAt = this.#options.clock.now() + delayMs
    const pending = this.#delayed.get(key)
    if (pending && pending.dueAt <= dueAt) return
    pending?.cancel()
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#delayed.delete(key)
      this.addAtOnce(key)
    })
    this.#delayed.set(key, { dueAt, cancel })
  }

  /** Works until the signal is aborted, then waits for what is under way (which gets the signal too). */
  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>()
    const onAbort = () => this.#wake?.()
    signal.addEventListener('abort', onAbort)
    try {
      while (!signal.aborted) {
        const key = running.size < this.#options.concurrency ? this.#take() : undefined
        if (key === undefined) {
          await this.#nextChange(signal)
          continue
        }
        const turn = this.#turns.next()
        if (turn) await turn
        if (signal.aborted) break
        const work: Promise<void> = this.#work(key, signal).then(() => {
          running.delete(work)
          this.#finish(key)
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

  /** The next key that may run now; those that ran too often wait a little longer. */
  #take(): string | undefined {
    const { clock, name, log } = this.#options
    for (const key of this.#ready) {
      this.#ready.delete(key)
      const { waitMs, begins } = this.#brake.admit(key, clock.now())
      if (begins) {
        controllerFigures.braked.count(name)
        log.warn({ queue: name, key }, 'reconciled again and again although nothing fails; it is held back from now on')
      }
      if (waitMs > 0) {
        this.addAfter(key, waitMs)
        continue
      }
      this.#active.add(key)
      return key
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

  #finish(key: string): void {
    this.#active.delete(key)
    if (this.#again.delete(key)) this.add(key)
    this.#wake?.()
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const { clock, deadlineMs, name, log, random } = this.#options
    markLoop(name, key)
    const linked = linkSignals(signal)
    const overdue = () => linked.abort(new Error(`${name} ${key}: not done in ${deadlineMs} ms`))
    const cancel = clock.after(deadlineMs, overdue)
    try {
      const outcome = await this.#options.reconcile(key, linked.signal)
      this.#pace.succeeded(key)
      if (outcome?.requeueAfterMs !== undefined) this.addAfter(key, outcome.requeueAfterMs)
    } catch (error) {
      if (signal.aborted) return
      const { failures, waitMs } = this.#pace.failed(key, clock.now(), random())
      controllerFigures.retries.count(name)
      // Somebody else wrote first: that is how optimistic concurrency looks, not a problem.
      const level = isStatusError(error, 'Conflict') ? 'debug' : 'warn'
      log[level]({ queue: name, key, failures, retryMs: waitMs, err: error }, 'reconcile failed; trying again')
      this.addAfter(key, waitMs)
    } finally {
      cancel()
      linked.release()
    }
  }
}
