import type { ClusterClient } from '../cluster/cluster-client.ts'
import { backoffMs } from '../cluster/pace/backoff.ts'
import type { CancelTimer, Clock } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import { type CardUsage, type ServedUsage, usageDayOf, usageRecordKind } from '../resources/usage-record.ts'
import { UsageBatch } from './usage-batch.ts'

export interface UsageWriterOptions {
  readonly client: Pick<ClusterClient, 'get' | 'create' | 'update'>
  readonly namespace: string
  /** No two that run at the same time have the same name. One that is started again goes on in its records. */
  readonly writer: string
  /** Tells this run of the writer from all others. */
  readonly run: string
  readonly clock: Clock
  readonly log: Logger
  /** Called for each write that failed, and is tried again. */
  readonly onFailure?: () => void
  readonly random?: () => number
}

/**
 * How long a write is after the one before: what a crash loses at most. A record is written whole, so a large one is
 * written more rarely.
 */
const shortestPauseMs = 10_000
const longestPauseMs = 60_000
const pausePerEntryMs = 50
/** What comes after a pause is shown almost at once; what comes with it shares the write. */
const settleMs = 2_000
/** While all models sleep, only what that saves grows: a cluster at rest is written to this rarely. */
const restMs = 30 * 60_000
const writeDeadlineMs = 10_000
const retryLimits = { firstMs: 2_000, longestMs: 5 * 60_000 }
/** While nothing can be written, older days are counted to the oldest of these. */
const mostDays = 8

interface NumberedBatch {
  readonly number: number
  readonly batch: UsageBatch
}

/**
 * Writes what was counted into the record of this writer and day. A batch is added to what the record holds and is
 * written until it is known to be there: the record says which write was its last, so that one whose answer was lost
 * does not count twice.
 */
export class UsageWriter implements Component {
  readonly name = 'usage'
  readonly #options: UsageWriterOptions
  readonly #days = new Map<string, UsageBatch>()
  #writing: NumberedBatch | undefined
  #lastNumber = 0
  #failures = 0
  #writtenAt: number
  #pauseMs = shortestPauseMs
  #dueAt = Number.POSITIVE_INFINITY
  #cancel: CancelTimer = () => {}
  /** One after the other: each goes on where the one before ended. */
  #flushed: Promise<void> = Promise.resolve()

  constructor(options: UsageWriterOptions) {
    this.#options = options
    this.#writtenAt = options.clock.now() - longestPauseMs
  }

  addServed(served: readonly ServedUsage[]): void {
    if (served.length === 0) return
    const today = this.#today()
    for (const one of served) today.addServed(one)
    this.#writeAfter(this.#pauseMs)
  }

  addCards(cards: readonly CardUsage[]): void {
    if (cards.length === 0) return
    const today = this.#today()
    for (const one of cards) today.addCards(one)
    const areHeld = cards.some(({ seconds }) => seconds > 0)
    this.#writeAfter(areHeld ? longestPauseMs : restMs)
  }

  /** Writes what is left. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#cancel()
    await this.#flushed
    await this.#flush(signal)
    // A failure of the last write has made an appointment.
    this.#cancel()
  }

  /** So long after the last write. */
  #writeAfter(pauseMs: number): void {
    const at = Math.max(this.#options.clock.now() + settleMs, this.#writtenAt + pauseMs)
    // While writing fails, its back-off decides.
    if (this.#failures === 0 && at < this.#dueAt) this.#appoint(at)
  }

  #appoint(at: number): void {
    const { clock } = this.#options
    this.#cancel()
    this.#dueAt = at
    this.#cancel = clock.after(at - clock.now(), () => {
      this.#dueAt = Number.POSITIVE_INFINITY
      this.#flushed = this.#flushed.then(() => this.#flush())
    })
  }

  #today(): UsageBatch {
    const day = usageDayOf(this.#options.clock.now())
    const known = this.#days.get(day)
    if (known) return known
    const batch = new UsageBatch(day)
    this.#days.set(day, batch)
    const [oldest, next] = this.#days.values()
    if (this.#days.size > mostDays && oldest && next) {
      this.#days.delete(oldest.day)
      next.add(oldest)
    }
    return batch
  }

  async #flush(signal?: AbortSignal): Promise<void> {
    const { clock, log, onFailure, random = Math.random } = this.#options
    for (let next = this.#next(); next; next = this.#next()) {
      try {
        const deadline = AbortSignal.timeout(writeDeadlineMs)
        await this.#write(next, signal ? AbortSignal.any([signal, deadline]) : deadline)
      } catch (error) {
        this.#failures++
        onFailure?.()
        const pauseMs = backoffMs(this.#failures, random(), retryLimits)
        const reason = errorMessage(error)
        log.warn({ reason, pauseMs }, 'what models were used for could not be written; it is kept and tried again')
        return this.#appoint(clock.now() + pauseMs)
      }
      this.#writing = undefined
      this.#failures = 0
      this.#writtenAt = clock.now()
    }
  }

  /** One that failed stays the next: it may have been written after all. */
  #next(): NumberedBatch | undefined {
    const [oldest] = this.#days.values()
    if (this.#writing || !oldest) return this.#writing
    this.#days.delete(oldest.day)
    this.#writing = { number: ++this.#lastNumber, batch: oldest }
    return this.#writing
  }

  async #write({ number, batch }: NumberedBatch, signal: AbortSignal): Promise<void> {
    const { client, namespace, writer, run } = this.#options
    const { day } = batch
    const metadata = { name: `${day}-${writer}`, namespace }
    const current = await client.get(usageRecordKind, metadata, signal)
    const last = current?.spec.lastWrite
    if (last && last.run === run && last.number >= number) return
    const sum = new UsageBatch(day)
    if (current) sum.add(current.spec)
    sum.add(batch)
    this.#pauseMs = Math.min(longestPauseMs, shortestPauseMs + pausePerEntryMs * sum.served.length)
    const spec = { day, writer, lastWrite: { run, number }, served: sum.served, cards: sum.cards }
    if (current) await client.update(usageRecordKind, { ...current, spec }, signal)
    else await client.create(usageRecordKind, { metadata, spec }, signal)
  }
}
