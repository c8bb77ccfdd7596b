import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { RecentMap } from './pace/recent-map.ts'
import { TokenBucket } from './pace/token-bucket.ts'

/** Something that happened and may be reported as an Event. */
export interface Occurrence {
  readonly about: KubernetesObject
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly at: number
}

/** What is to be written about an occurrence. */
export interface Correlated extends Occurrence {
  /** Occurrences with the same key share one Event. */
  readonly key: string
  readonly count: number
  readonly firstAt: number
}

interface Similar {
  readonly messages: Set<string>
  lastAt: number
}

interface Observed {
  readonly count: number
  readonly firstAt: number
  /** The name of the Event that was written for it. */
  readonly name?: string | undefined
}

/** The limits of client-go's EventCorrelator. */
const mostKeys = 4_096
/**
 * From the tenth on, Events that differ only in their message and come within ten minutes of each other are combined.
 */
const mostSimilar = 10
const similarMs = 10 * 60_000
/** For one object: 25 at once, then one every five minutes. */
const perObject = { burst: 25, refillMs: 5 * 60_000 }

/**
 * Decides which occurrences of one component become Events, as client-go's recorder does: repetitions are counted,
 * similar ones are combined, and what is still too much about one object is dropped. Time comes with the occurrences.
 */
export class EventCorrelator {
  readonly #similar = new RecentMap<Similar>(mostKeys)
  readonly #observed = new RecentMap<Observed>(mostKeys)
  readonly #budgets = new RecentMap<TokenBucket>(mostKeys)

  /** Undefined when it is too much; it is still counted, which shows in the count of the next one. */
  correlate(occurrence: Occurrence): Correlated | undefined {
    const object = objectKey(occurrence)
    const combined = this.#combine(object, occurrence)
    const observed = this.#observe(combined.key, occurrence.at)
    if (!this.#budgetOf(object).take(occurrence.at)) return undefined
    return { ...occurrence, ...combined, count: observed.count, firstAt: observed.firstAt }
  }

  /** The name of the Event whose count is to be raised; undefined when there is none yet. */
  nameOf(key: string): string | undefined {
    return this.#observed.get(key)?.name
  }

  /** The Event of this key exists now, under this name. */
  written(key: string, name: string): void {
    const observed = this.#observed.get(key)
    if (observed) this.#observed.set(key, { ...observed, name })
  }

  /** The Event whose count was to be raised is gone: this occurrence is the first of a new one. */
  restart(occurrence: Correlated): Correlated {
    const { key, at } = occurrence
    this.#observed.set(key, { count: 1, firstAt: at })
    return { ...occurrence, count: 1, firstAt: at }
  }

  #combine(object: string, { type, reason, message, at }: Occurrence): { key: string; message: string } {
    const group = [object, type, reason].join('\n')
    const known = this.#similar.get(group)
    const similar = known && at - known.lastAt <= similarMs ? known : { messages: new Set<string>(), lastAt: at }
    similar.lastAt = at
    this.#similar.set(group, similar)
    this.#similar.forgetOldest(({ lastAt }) => at - lastAt > similarMs)
    similar.messages.add(message)
    if (similar.messages.size < mostSimilar) return { key: [group, message].join('\n'), message }
    similar.messages.delete(message)
    return { key: group, message: `(combined from similar events): ${message}` }
  }

  #observe(key: string, at: number): Observed {
    const before = this.#observed.get(key)
    const observed = { count: (before?.count ?? 0) + 1, firstAt: before?.firstAt ?? at, name: before?.name }
    this.#observed.set(key, observed)
    return observed
  }

  #budgetOf(object: string): TokenBucket {
    const budget = this.#budgets.get(object) ?? new TokenBucket(perObject)
    this.#budgets.set(object, budget)
    return budget
  }
}

function objectKey({ about }: Occurrence): string {
  const { namespace, name, uid } = about.metadata
  return [about.apiVersion, about.kind, namespace, name, uid].join('\n')
}
