import type { Sections } from '../names/cluster-names.ts'
import { type ResourceRecord, recordTypes, responseCodes } from '../messages/message.ts'

/** An answer from another resolver. */
export interface ForeignAnswer extends Sections {
  readonly authenticData: boolean
}

interface Entry {
  readonly answer: ForeignAnswer
  readonly storedAt: number
  readonly until: number
  readonly bytes: number
}

export interface CacheLimits {
  readonly entries: number
  readonly bytes: number
  /** However long an answer says that it is valid. */
  readonly longestSeconds: number
}

/** As in the usual Corefile, nothing is cached for longer than half a minute. */
export const usualCacheLimits: CacheLimits = { entries: 10_000, bytes: 16 * 1024 * 1024, longestSeconds: 30 }

/** A cache of answers that are still valid; the least recently used make room for new ones. */
export class AnswerCache {
  readonly #limits: CacheLimits
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(limits: CacheLimits = usualCacheLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string, now: number): ForeignAnswer | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    // After the clock was set back, the age of an answer is unknown.
    if (now >= entry.until || now < entry.storedAt) {
      this.#bytes -= entry.bytes
      return undefined
    }
    this.#entries.set(key, entry)
    return aged(entry.answer, Math.floor((now - entry.storedAt) / 1000))
  }

  /**
   * Caches the answer for its lifetime, and returns it as it is to be sent: no record is valid for longer than it is
   * cached.
   */
  put(key: string, answer: ForeignAnswer, now: number): ForeignAnswer {
    const { longestSeconds, entries, bytes } = this.#limits
    const capped = withTtls(answer, (ttl) => Math.min(ttl, longestSeconds))
    const seconds = lifetimeOf(capped)
    const size = sizeOf(capped) + key.length
    const previous = this.#entries.get(key)
    if (previous) this.#bytes -= previous.bytes
    this.#entries.delete(key)
    if (seconds === undefined || seconds <= 0 || size > bytes / 16) return capped
    this.#entries.set(key, { answer: capped, storedAt: now, until: now + seconds * 1000, bytes: size })
    this.#bytes += size
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= entries && this.#bytes <= bytes) break
      this.#entries.delete(oldest)
      this.#bytes -= entry.bytes
    }
    return capped
  }
}

/** In seconds; `undefined` for what must not be cached: failures, and negative answers that do not say for how long. */
export function lifetimeOf({ rcode, answers, authorities }: Sections): number | undefined {
  if (rcode !== responseCodes.NOERROR && rcode !== responseCodes.NXDOMAIN) return undefined
  const authority = authorities.find(({ type }) => type === recordTypes.SOA)
  const least = Math.min(...answers.map(({ ttl }) => ttl), Number.POSITIVE_INFINITY)
  // An alias without a record behind it is a negative answer; it is valid for as long as both.
  if (answers.length > 0 && rcode === responseCodes.NOERROR && !authority) return least
  if (!authority) return undefined
  const numbers = authority.data.at(-1)
  const minimum = Buffer.isBuffer(numbers) && numbers.length >= 20 ? numbers.readUInt32BE(numbers.length - 4) : 0
  return Math.min(least, authority.ttl, minimum)
}

function aged(answer: ForeignAnswer, seconds: number): ForeignAnswer {
  return seconds === 0 ? answer : withTtls(answer, (ttl) => Math.max(0, ttl - seconds))
}

function withTtls(answer: ForeignAnswer, change: (ttl: number) => number): ForeignAnswer {
  const changed = (records: readonly ResourceRecord[]) => records.map((one) => ({ ...one, ttl: change(one.ttl) }))
  return {
    ...answer,
    answers: changed(answer.answers),
    authorities: changed(answer.authorities),
    additionals: changed(answer.additionals),
  }
}

function sizeOf({ answers, authorities, additionals }: Sections): number {
  let bytes = 200
  for (const { name, data } of [...answers, ...authorities, ...additionals]) {
    bytes += 150 + 30 * name.length
    for (const part of data) bytes += Buffer.isBuffer(part) ? 100 + part.length : 50 * part.length
  }
  return bytes
}
