import type { CancelTimer, Clock } from '../foundation/clock.ts'
import type { ObjectRef } from '../resources/kubernetes-object.ts'

/**
 * Undoes what was begun for something that is not written after all. Does nothing when that has become true, was taken
 * back before, or something newer was foreseen in its place.
 */
export type TakeBack = () => void

/**
 * Told of something right before it is written, to begin with what follows from it while it becomes durable. Answers
 * with what to call if it is not written, or with nothing where nothing was begun.
 */
export type Foresee<T> = (coming: T) => TakeBack | undefined

/** A Model is being given more replicas. */
export interface ComingReplicas {
  readonly model: ObjectRef
  readonly replicas: number
}

/** Writes are done or have failed long before. */
const longestMs = 60_000

interface Entry<T> {
  readonly coming: T
  readonly cancelDeadline: CancelTimer
}

/**
 * What is foreseen, by key: each stands until it is settled (it is true, or somebody acts on it in another
 * way), taken back, or replaced by a newer one. What is still not true after a minute counts as taken back:
 * whoever foresaw it may have crashed.
 */
export class Foreseen<T> {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry<T>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.coming
  }

  /** `undo` is called when it is taken back. */
  add(key: string, coming: T, undo: () => void): TakeBack {
    this.settle(key)
    const takeBack = () => {
      if (this.#entries.get(key) !== entry) return
      this.settle(key)
      undo()
    }
    const entry = { coming, cancelDeadline: this.#clock.after(longestMs, takeBack) }
    this.#entries.set(key, entry)
    return takeBack
  }

  /** Answers with what was foreseen; from now on it cannot be taken back. */
  settle(key: string): T | undefined {
    const entry = this.#entries.get(key)
    entry?.cancelDeadline()
    this.#entries.delete(key)
    return entry?.coming
  }

  /** Nothing of it matters any more: whoever would act on it stops. */
  clear(): void {
    for (const key of this.#entries.keys()) this.settle(key)
  }
}
