import type { RelayLimits } from '../limits.ts'

export type PaceLimits = Pick<RelayLimits, 'bodyGraceMs' | 'minBodyBytesPerSecond' | 'bodyTotalMs'>

/**
 * How much time a client has left to send its body. It starts with the grace, and every byte adds some, up to the grace
 * again: a client at the minimum rate is never late, a stall uses up what was gained, and a byte now and then gains
 * nothing.
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

  /** The relay was not reading for this long, so it does not count. */
  excuse(ms: number, now: number): void {
    this.#dueAt = now + this.#graceMs
    this.#endsAt += ms
  }

  /** The time until the client is too slow; a body that is held also has a total deadline. */
  msLeft(now: number, isHeld: boolean): number {
    return Math.max(0, (isHeld ? Math.min(this.#dueAt, this.#endsAt) : this.#dueAt) - now)
  }

  /** How much of the grace is used up: 0 if the client keeps up. */
  lagMs(now: number): number {
    return Math.max(0, now + this.#graceMs - this.#dueAt)
  }
}
