import type { CancelTimer, Clock } from '../foundation/clock.ts'
import type { ObjectRef } from '../resources/kubernetes-object.ts'

/**
 * Undoes what was begun for something that is not written after all. Does nothing if it has become true, was taken back
 * before, or was replaced by something newer.
 */
export type TakeBack = () => void

/**
 * Told of something right before it is written, to begin with what follows from it while it becomes durable. Returns
 * what to call if it is not written, or nothing if nothing was begun.
 */
export type Foresee<T> = (coming: T) => TakeBack | undefined

/** A Model is about to get more replicas. */
export interface ComingReplicas {
  readonly model: ObjectRef
  readonly replicas: number
}

/** By then, any write has succeeded or failed. */
const longestMs = 60_000

interface Entry<T> {
  readonly coming: T
  readonly cancelDeadline: CancelTimer
}

/**
 * What is foreseen, by key. Each entry stands until it is settled (it has become true, or somebody acts on it in
 * another way), taken back, or replaced by a newer one. What has not become true after a minute counts as taken back,
 * because whoever foresaw it may have crashed.
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

  /** Returns what was foreseen, which can no longer be taken back. */
  settle(key: string): T | undefined {
    const entry = this.#entries.get(key)
    entry?.cancelDeadline()
    this.#entries.delete(key)
    return entry?.coming
  }

  /** Forgets everything without undoing it, because whoever would act on it stops. */
  clear(): void {
    for (const key of this.#entries.keys()) this.settle(key)
  }
}
