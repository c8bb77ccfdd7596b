import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../foundation/clock.ts'

/** What is known of objects for a while, and then forgotten, because it may not be so any more. */
export class PassingFacts<T> {
  readonly #clock: Clock
  readonly #keepMs: number
  readonly #facts = new Map<string, { readonly fact: T; readonly until: number }>()

  constructor(clock: Clock, keepMs: number) {
    this.#clock = clock
    this.#keepMs = keepMs
  }

  /** From the first time on: to note the same again keeps it no longer. */
  note(key: string, fact: T): void {
    if (!isDeepStrictEqual(this.get(key), fact)) this.#facts.set(key, { fact, until: this.#clock.now() + this.#keepMs })
  }

  get(key: string): T | undefined {
    return this.leftMs(key) === undefined ? undefined : this.#facts.get(key)?.fact
  }

  /** For how long it counts; undefined if nothing is known. */
  leftMs(key: string): number | undefined {
    const leftMs = (this.#facts.get(key)?.until ?? 0) - this.#clock.now()
    // Longer than it is kept only if the clock was set back.
    if (leftMs > 0 && leftMs <= this.#keepMs) return leftMs
    this.#facts.delete(key)
    return undefined
  }

  forget(key: string): void {
    this.#facts.delete(key)
  }
}
