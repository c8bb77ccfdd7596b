export interface BucketLimits {
  /** How many at once. */
  readonly burst: number
  /** The time for one more. */
  readonly refillMs: number
  /** The most that `reserve` may owe. */
  readonly mostOwed?: number
}

/** A rate limit: a burst at once, then one every so often. Time is an argument. */
export class TokenBucket {
  readonly #limits: BucketLimits
  #tokens: number
  #at: number | undefined

  constructor(limits: BucketLimits) {
    this.#limits = limits
    this.#tokens = limits.burst
  }

  /** Takes one if there is one now; returns whether there was. */
  take(now: number): boolean {
    this.#refill(now)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** Takes one in any case, and returns how long to wait for it. */
  reserve(now: number): number {
    this.#refill(now)
    this.#tokens = Math.max(this.#tokens - 1, -(this.#limits.mostOwed ?? Infinity))
    return this.#tokens >= 0 ? 0 : Math.ceil(-this.#tokens * this.#limits.refillMs)
  }

  #refill(now: number): void {
    const { burst, refillMs } = this.#limits
    // A clock that was set back adds nothing, and counts from there.
    const passedMs = Math.max(0, now - (this.#at ?? now))
    this.#tokens = Math.min(burst, this.#tokens + passedMs / refillMs)
    this.#at = now
  }
}
