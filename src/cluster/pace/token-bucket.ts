export interface BucketLimits {
  /** So many at once. */
  readonly burst: number
  /** One more each so often. */
  readonly refillMs: number
  /** No more are ever owed by `reserve`. */
  readonly mostOwed?: number
}

/** So many at once, then one each so often. Time is an argument. */
export class TokenBucket {
  readonly #limits: BucketLimits
  #tokens: number
  #at: number | undefined

  constructor(limits: BucketLimits) {
    this.#limits = limits
    this.#tokens = limits.burst
  }

  /** Whether there is one left now, which is then taken. */
  take(now: number): boolean {
    this.#refill(now)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** Takes one in any case, and says how long to wait for it. */
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
