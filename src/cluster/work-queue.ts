import type { CancelTimer, Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import { isStatusError } from '../resources/status-error.ts'
import { backoffMs } from './backoff.ts'

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

const retryLimits = { firstMs: 50, longestMs: 60_000 }

/**
 * Keys waiting to be reconciled. A key is in it once, however often it is added, so its size is bounded by the number of
 * objects; a key added while it is worked on runs once more afterwards.
 */
export class WorkQueue {
  readonly #options: Required<WorkQueueOptions>
  readonly #ready = new Set<string>()
  readonly #active = new Set<string>()
  readonly #again = new Set<string>()
  readonly #failures = new Map<string, number>()
  readonly #delayed = new Map<string, { readonly dueAt: number; readonly cancel: CancelTimer }>()
  #wake: (() => void) | undefined
  #stopped = false

  constructor(options: WorkQueueOptions) {
    this.#options = { concurrency: 1, deadlineMs: 120_000, random: Math.random, ...options }
  }

  add(key: string): void {
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
      this.add(key)
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
        for (const key of this.#ready) {
          if (running.size >= this.#options.concurrency) break
          this.#ready.delete(key)
          this.#active.add(key)
          const work: Promise<void> = this.#work(key, signal).then(() => {
            running.delete(work)
            this.#finish(key)
          })
          running.add(work)
        }
        await this.#nextChange(signal)
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#stopped = true
      for (const { cancel } of this.#delayed.values()) cancel()
      this.#delayed.clear()
      await Promise.all(running)
    }
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
    if (this.#again.delete(key)) this.#ready.add(key)
    this.#wake?.()
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const { clock, deadlineMs, name, log, random } = this.#options
    markLoop(name, key)
    const deadline = new AbortController()
    const cancel = clock.after(deadlineMs, () =>
      deadline.abort(new Error(`${name} ${key}: not done in ${deadlineMs} ms`)),
    )
    try {
      const outcome = await this.#options.reconcile(key, AbortSignal.any([signal, deadline.signal]))
      this.#failures.delete(key)
      if (outcome?.requeueAfterMs !== undefined) this.addAfter(key, outcome.requeueAfterMs)
    } catch (error) {
      if (signal.aborted) return
      const failures = (this.#failures.get(key) ?? 0) + 1
      this.#failures.set(key, failures)
      const retryMs = backoffMs(failures, random(), retryLimits)
      // Somebody else wrote first: that is how optimistic concurrency looks, not a problem.
      const level = isStatusError(error, 'Conflict') ? 'debug' : 'warn'
      log[level]({ queue: name, key, failures, retryMs, err: error }, 'reconcile failed; trying again')
      this.addAfter(key, retryMs)
    } finally {
      cancel()
    }
  }
}
