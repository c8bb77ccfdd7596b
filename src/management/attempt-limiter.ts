import { formatRange, parseRange } from '../resources/address-range.ts'

/** Allows this many failures at once, and one more after every `refillMs`. */
export interface AttemptLimit {
  readonly burst: number
  readonly refillMs: number
}

export interface AttemptLimits {
  /** For one key from one source. */
  readonly perKey: AttemptLimit
  /** For all keys from one source together. */
  readonly perSource: AttemptLimit
  /** How many sources and keys are remembered. Those not seen for longest are forgotten first. */
  readonly remembered: number
}

export const defaultAttemptLimits: AttemptLimits = {
  perKey: { burst: 60, refillMs: 1_000 },
  perSource: { burst: 600, refillMs: 100 },
  remembered: 10_000,
}

interface Bucket {
  left: number
  at: number
}

/**
 * Limits how often wrong key pairs may be tried. After too many failures, attempts are refused without a check, so that
 * guessing does not help. A key that was right before is still checked when it comes from the same source, no matter
 * what others behind that address try.
 */
export class AttemptLimiter {
  readonly #limits: AttemptLimits
  readonly #now: () => number
  readonly #buckets = new Map<string, Bucket>()
  readonly #known = new Map<string, true>()

  constructor(now: () => number, limits: AttemptLimits = defaultAttemptLimits) {
    this.#now = now
    this.#limits = limits
  }

  /** How many seconds to wait before the next attempt; `undefined` if this one is allowed. */
  waitSeconds(address: string, accessKey: string): number | undefined {
    const { perKey, perSource } = this.#limits
    const source = sourceOf(address)
    const pair = `${source} ${accessKey}`
    const waits = [this.#waitMs(pair, perKey), this.#known.has(pair) ? 0 : this.#waitMs(source, perSource)]
    const longest = Math.max(...waits)
    return longest === 0 ? undefined : Math.ceil(longest / 1000)
  }

  /** Records a failure. Returns whether it used up the limit. */
  failed(address: string, accessKey: string): boolean {
    const { perKey, perSource } = this.#limits
    const source = sourceOf(address)
    const spent = [this.#spend(`${source} ${accessKey}`, perKey), this.#spend(source, perSource)]
    return spent.includes(true)
  }

  succeeded(address: string, accessKey: string): void {
    const pair = `${sourceOf(address)} ${accessKey}`
    this.#buckets.delete(pair)
    this.#keep(this.#known, pair, true)
  }

  /** How many entries are remembered, so that tests can check the bound. */
  get size(): number {
    return this.#buckets.size + this.#known.size
  }

  #waitMs(name: string, { burst, refillMs }: AttemptLimit): number {
    const bucket = this.#buckets.get(name)
    if (!bucket) return 0
    const left = Math.min(burst, bucket.left + (this.#now() - bucket.at) / refillMs)
    return left >= 1 ? 0 : Math.max(1, (1 - left) * refillMs)
  }

  #spend(name: string, { burst, refillMs }: AttemptLimit): boolean {
    const now = this.#now()
    const before = this.#buckets.get(name) ?? { left: burst, at: now }
    const left = Math.max(0, Math.min(burst, before.left + (now - before.at) / refillMs) - 1)
    this.#keep(this.#buckets, name, { left, at: now })
    return left < 1
  }

  #keep<T>(kept: Map<string, T>, name: string, value: T): void {
    kept.delete(name)
    kept.set(name, value)
    if (kept.size <= this.#limits.remembered) return
    const [oldest] = kept.keys()
    if (oldest !== undefined) kept.delete(oldest)
  }
}

/** An IPv6 client usually has a whole /64 network of addresses, so that counts as one source. */
function sourceOf(address: string): string {
  if (!address.includes(':')) return address
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length)
  const network = parseRange(`${address.split('%')[0] ?? ''}/64`)
  return network ? formatRange(network) : address
}
