import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { CancelTimer, Clock } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import { refOf } from '../resources/kubernetes-object.ts'
import { usageDayOf, usageRecordKind } from '../resources/usage-record.ts'

export interface UsageExpiryOptions {
  readonly client: Pick<ClusterClient, 'list' | 'delete'>
  readonly namespace: string
  readonly retentionDays: number
  readonly clock: Clock
  readonly log: Logger
}

const dayMs = 24 * 60 * 60_000
/** Not while everything starts. */
const firstLookMs = 10 * 60_000
const lookEveryMs = 6 * 60 * 60_000
const lookDeadlineMs = 60_000
/** A shorter retention may concern many at once; the rest goes with the next look. */
const mostAtOnce = 1_000

/** Deletes the records of days that are older than somebody wants to know. */
export class UsageExpiry implements Component {
  readonly name = 'usage expiry'
  readonly #options: UsageExpiryOptions
  readonly #stopping = new AbortController()
  #cancel: CancelTimer = () => {}
  #looking: Promise<void> | undefined

  constructor(options: UsageExpiryOptions) {
    this.#options = options
  }

  start(): void {
    this.#lookAfter(firstLookMs)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancel()
    await this.#looking
  }

  #lookAfter(ms: number): void {
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#looking = this.#look().then(() => {
        if (!this.#stopping.signal.aborted) this.#lookAfter(lookEveryMs)
      })
    })
  }

  async #look(): Promise<void> {
    const { client, namespace, retentionDays, clock, log } = this.#options
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(lookDeadlineMs)])
    const firstKept = usageDayOf(clock.now() - retentionDays * dayMs)
    try {
      const { items } = await client.list(usageRecordKind, { namespace }, signal)
      const expired = items.filter(({ spec }) => spec.day < firstKept).slice(0, mostAtOnce)
      for (const record of expired) await client.delete(usageRecordKind, refOf(record), {}, signal)
      if (expired.length > 0) log.info({ records: expired.length, firstKept }, 'old records of usage were deleted')
    } catch (error) {
      if (this.#stopping.signal.aborted) return
      log.warn({ reason: errorMessage(error) }, 'old records of usage could not be deleted; it is tried again')
    }
  }
}
