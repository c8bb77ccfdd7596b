import type { RelayLimits } from '../limits.ts'

export type PaceLimits = Pick<RelayLimits, 'bodyGraceMs' | 'minBodyBytesPerSecond' | 'bodyTotalMs'>

/**
 * How much time a client has to send on. It begins with the grace and every byte buys more, up to the grace again: who
 * keeps up the least rate is never late, a stall uses up what was gained, and a byte now and then buys nothing.
 */
export class BodyPace {
  readonly #graceMs: number
  readonly #msPerByte: number
  #endsAt: number
  #dueAt: number

  constructor({ bodyGraceMs, minBodyBytesPerSecond, bodyTotalMs }: PaceLimits, now: number) {
    this.#graceMs = bodyGraceMs
    this.#msPerByte = 1_000 / minBodyBytesPerSecond
    this.#dueAt = now + bodyGraceMs
    this.#endsAt = now + bodyTotalMs
  }

  progress(bytes: number, now: number): void {
    this.#dueAt = Math.min(this.#dueAt + bytes * this.#msPerByte, now + this.#graceMs)
  }

  /** For so long we did not want any more. */
  excuse(ms: number, now: number): void {
    this.#dueAt = now + this.#graceMs
    this.#endsAt += ms
  }

  /** Until it is too slow; a body that is held has to be here within the total time, too. */
  msLeft(now: number, isHeld: boolean): number {
    return Math.max(0, (isHeld ? Math.min(this.#dueAt, this.#endsAt) : this.#dueAt) - now)
  }

  /** How much of the grace is used up: 0 while it keeps up. */
  lagMs(now: number): number {
    return Math.max(0, now + this.#graceMs - this.#dueAt)
  }
}
