import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { LoopTurns } from '../../foundation/loop-turns.ts'
import { type Event, eventKind } from '../../resources/event.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { ignoreGoneOrChanged } from '../ignore-gone.ts'

export interface EventLimits {
  readonly ttlMs: number
  readonly most: number
  /** Less than a namespace may hold, so that new Events, which matter more than old ones, find room. */
  readonly mostPerNamespace: number
}

export interface EventExpiryOptions {
  readonly client: ClusterClient
  readonly clock: Clock
  readonly log: Logger
  /** Defaults apply where nothing is set. */
  readonly limits?: Partial<EventLimits> | undefined
}

/** An hour is Kubernetes' `--event-ttl`. Kubernetes does not bound their number; here all of them are in memory. */
const usualLimits: EventLimits = { ttlMs: 60 * 60_000, most: 10_000, mostPerNamespace: 4_000 }
const everyMs = 60_000
/** Deleting competes with other writes: a batch at a time, then a pause, and the rest another time. */
const batchSize = 100
const pauseMs = 50
const mostAtATime = 5_000
const restMs = 1_000
const onlyKey = 'events'
const perTurn = { items: 2_000, ms: 5 }

/**
 * Deletes Events that are old or too many. It keeps no copy of them and looks once a minute, because in between nobody
 * needs to know.
 */
export class EventExpiry {
  readonly #options: EventExpiryOptions
  readonly #limits: EventLimits
  readonly #queue: WorkQueue<string>
  readonly #turns: LoopTurns

  constructor(options: EventExpiryOptions) {
    this.#options = options
    this.#limits = { ...usualLimits, ...options.limits }
    this.#turns = new LoopTurns(options.clock, perTurn)
    const { clock, log } = options
    this.#queue = new WorkQueue({ name: 'event-expiry', clock, log, reconcile: (_key, signal) => this.#expire(signal) })
    this.#queue.add(onlyKey)
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #expire(signal: AbortSignal): Promise<{ requeueAfterMs: number }> {
    const { client, clock, log } = this.#options
    const { items } = await client.list(eventKind, {}, signal)
    const dated: DatedEvent[] = []
    for (const event of items) {
      const turn = this.#turns.next()
      if (turn) await turn
      dated.push({ event, time: lastChangeOf(event, clock.now()) })
    }
    const expired = expiredOf(dated, clock.now(), this.#limits).map(({ event }) => event)
    const now = expired.slice(0, mostAtATime)
    for (let from = 0; from < now.length; from += batchSize) {
      if (from > 0) await clock.sleep(pauseMs, signal)
      await Promise.all(now.slice(from, from + batchSize).map((event) => this.#delete(event, signal)))
    }
    if (now.length > 0) log.info({ deleted: now.length, left: items.length - now.length }, 'old Events were deleted')
    return { requeueAfterMs: expired.length > now.length ? restMs : everyMs }
  }

  #delete(event: Event, signal: AbortSignal): Promise<void> {
    const { uid } = event.metadata
    return this.#options.client.delete(eventKind, refOf(event), { uid }, signal).catch(ignoreGoneOrChanged)
  }
}

interface DatedEvent {
  readonly event: Event
  readonly time: number
}

/** What is old or too many in each namespace, and of the rest what is too many in all. */
function expiredOf(dated: readonly DatedEvent[], now: number, limits: EventLimits): readonly DatedEvent[] {
  const { ttlMs, most, mostPerNamespace } = limits
  const expired: DatedEvent[] = []
  const kept: DatedEvent[] = []
  const sort = (of: readonly DatedEvent[], bound: number, into: DatedEvent[]) => {
    const isExpired = expiry(
      Float64Array.from(of, ({ time }) => time),
      now,
      { ttlMs, most: bound },
    )
    for (const one of of) (isExpired(one.time) ? expired : into).push(one)
  }
  const byNamespace = Map.groupBy(dated, ({ event }) => event.metadata.namespace)
  for (const events of byNamespace.values()) sort(events, mostPerNamespace, kept)
  sort(kept, most, [])
  return expired
}

/**
 * Which times are over: those beyond the limit, and the oldest of those that are too many. To be asked once for each
 * time, in order, because among equal times only some may be too many.
 */
export function expiry(
  times: Float64Array,
  now: number,
  { ttlMs, most }: Pick<EventLimits, 'ttlMs' | 'most'>,
): (time: number) => boolean {
  const oldest = now - ttlMs
  const surplus = times.length - most
  if (surplus <= 0) return (time) => time < oldest
  const sorted = times.toSorted()
  const cutoff = sorted[surplus - 1] ?? 0
  let ties = surplus - sorted.indexOf(cutoff)
  return (time) => time < oldest || time < cutoff || (time === cutoff && ties-- > 0)
}

/** When it was last written, as far as it says so itself. A time in the future does not make it younger. */
export function lastChangeOf(event: Event, now: number): number {
  const { metadata, lastTimestamp, eventTime, series } = event
  const claimed = [lastTimestamp, eventTime, series?.lastObservedTime].map((time) => Date.parse(time ?? ''))
  const created = Date.parse(metadata.creationTimestamp ?? '')
  return Math.max(Number.isNaN(created) ? 0 : created, ...claimed.filter((time) => time <= now))
}
