import { backoffMs } from './backoff.ts'
import { TokenBucket } from './token-bucket.ts'

/**
 * As client-go's DefaultControllerRateLimiter: 5 ms, doubled after each further failure in a row. That one goes up to
 * 1,000 s; here a minute is the longest, because whoever has fixed the cause (raised a quota, freed a port) is watching
 * and waits.
 */
const perKey = { firstMs: 5, longestMs: 60_000 }
/**
 * Also from there: all keys of a queue together are retried 10 times a second, after a hundred at once. No key waits
 * longer for this than for its own delay.
 */
const allKeys = { burst: 100, refillMs: 100, mostOwed: 600 }
/**
 * News of a failing key may mean that the cause is gone, so it shortens the wait; not to nothing, because the news may
 * be what the failing reconcile itself has written.
 */
const shareAfterNews = 0.1

interface Failing {
  readonly failures: number
  readonly failedAt: number
  readonly waitMs: number
}

/** When failed keys are tried again. Time and randomness are arguments. */
export class RetryPace {
  readonly #failing = new Map<string, Failing>()
  readonly #bucket = new TokenBucket(allKeys)

  failed(key: string, now: number, random: number): { readonly failures: number; readonly waitMs: number } {
    const failures = (this.#failing.get(key)?.failures ?? 0) + 1
    const waitMs = Math.max(backoffMs(failures, random, perKey), this.#bucket.reserve(now))
    const failing = { failures, failedAt: now, waitMs }
    this.#failing.set(key, failing)
    return failing
  }

  succeeded(key: string): void {
    this.#failing.delete(key)
  }

  /** How long a key still waits although there is news of it; 0 if it did not fail. */
  waitAfterNewsMs(key: string, now: number): number {
    const failing = this.#failing.get(key)
    if (!failing) return 0
    const least = failing.waitMs * shareAfterNews
    return Math.min(least, Math.max(0, Math.ceil(failing.failedAt + least - now)))
  }
}
