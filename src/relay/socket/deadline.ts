import type { CancelTimer, Clock } from '../../foundation/clock.ts'

/**
 * One deadline that moves often. Moving it later or clearing it is free: the timer stays and checks again when it
 * fires, so a connection that serves thousands of requests sets a timer only a few times.
 */
export class Deadline {
  readonly #clock: Clock
  #dueAt = Number.POSITIVE_INFINITY
  #armedFor = Number.POSITIVE_INFINITY
  #cancel: CancelTimer | undefined
  #callback: () => void = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the current time. */
  set(ms: number, callback: () => void): number {
    const now = this.#clock.now()
    this.#dueAt = now + ms
    this.#callback = callback
    if (this.#dueAt < this.#armedFor) this.#arm(ms)
    return now
  }

  clear(): void {
    this.#dueAt = Number.POSITIVE_INFINITY
  }

  /** Removes the timer for good. */
  dispose(): void {
    this.clear()
    this.#cancel?.()
    this.#cancel = undefined
    this.#armedFor = Number.POSITIVE_INFINITY
  }

  #arm(ms: number): void {
    this.#cancel?.()
    this.#armedFor = this.#dueAt
    this.#cancel = this.#clock.after(ms, () => this.#look())
  }

  #look(): void {
    this.#cancel = undefined
    this.#armedFor = Number.POSITIVE_INFINITY
    if (this.#dueAt === Number.POSITIVE_INFINITY) return
    const left = this.#dueAt - this.#clock.now()
    if (left > 0) return this.#arm(left)
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#callback()
  }
}
