import { type Clock, abortReason } from '../../foundation/clock.ts'
import { linkSignals } from '../../foundation/linked-signal.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Lease, leaseKind } from '../../resources/lease.ts'
import { isStatusError } from '../../resources/status-error.ts'
import type { ClusterClient } from '../cluster-client.ts'
import { type LeaseRecord, type Observation, decideLease } from './lease-decision.ts'

export interface LeaderLeaseOptions {
  readonly client: ClusterClient
  readonly namespace: string
  readonly name: string
  /** Identifies the candidate; different for every process. */
  readonly identity: string
  readonly clock: Clock
  readonly log: Logger
  readonly random?: (() => number) | undefined
  /** How long others wait after the last renewal. */
  readonly durationMs?: number | undefined
  /**
   * A leader that could not renew for this long stops leading. Shorter than the duration, so that there are never two
   * leaders.
   */
  readonly renewDeadlineMs?: number | undefined
  readonly retryMs?: number | undefined
}

const longestReleaseMs = 5_000

/** Held by us now, by somebody else, or not known. */
type Attempt = 'held' | 'taken' | 'unknown'

/** Leader election: whoever holds a Lease object leads, for as long as it is renewed. */
export class LeaderLease {
  readonly #options: LeaderLeaseOptions
  readonly #durationMs: number
  readonly #renewDeadlineMs: number
  readonly #retryMs: number
  readonly #releaseMs: number
  #observed: Observation | undefined
  /** As we wrote it last, while we hold it: it need not be read before it is renewed. */
  #held: Lease | undefined
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(options: LeaderLeaseOptions) {
    this.#options = options
    this.#durationMs = options.durationMs ?? 15_000
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000
    this.#retryMs = options.retryMs ?? 2_000
    // A busy server may take seconds; a candidate that stops does not wait longer than that for the sake of the next
    // one.
    this.#releaseMs = Math.min(this.#renewDeadlineMs, longestReleaseMs)
    if (this.#renewDeadlineMs >= this.#durationMs)
      throw new RangeError('a leader must give up before its lease runs out')
  }

  /**
   * Whether this candidate surely leads at this moment. A program that was paused hears only later that it has lost the
   * lease; until then it asks here before each change that it makes as the leader.
   */
  get isHeld(): boolean {
    return this.#options.clock.now() - this.#renewedAt < this.#renewDeadlineMs
  }

  /**
   * Waits to lead, leads, and waits again, until the signal is aborted; then releases the lease. `lead` gets a signal
   * that is aborted when leading is over; the next round begins when it has returned.
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { log, name } = this.#options
    while (!signal.aborted) {
      if (!(await this.#acquired(signal))) return
      log.info({ lease: name }, 'leading')
      await this.#leadUntilLost(lead, signal)
      if (signal.aborted) await this.#release()
    }
  }

  async #acquired(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      if ((await this.#attempt(signal)) === 'held') return true
      await this.#pause(signal)
    }
    return false
  }

  async #leadUntilLost(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const lost = linkSignals(signal)
    const over = () => lost.abort(new Error('leading is over'))
    const renewing = this.#renewUntilLost(lost.signal).finally(over)
    try {
      await lead(lost.signal)
    } finally {
      over()
      await renewing
      this.#renewedAt = Number.NEGATIVE_INFINITY
    }
  }

  async #renewUntilLost(signal: AbortSignal): Promise<void> {
    const { clock, log, name } = this.#options
    while (!signal.aborted) {
      await this.#pause(signal)
      if (signal.aborted) return
      // An answer after the deadline is worthless: by then another may lead.
      const overdue = linkSignals(signal)
      const giveUp = () => overdue.abort(new Error('not renewed in time'))
      const cancel = clock.after(Math.max(0, this.#renewedAt + this.#renewDeadlineMs - clock.now()), giveUp)
      const renewed = await Promise.race([this.#attempt(overdue.signal), aborted(overdue.signal)])
      cancel()
      overdue.release()
      if (renewed === 'taken' || (renewed === 'unknown' && !this.isHeld)) {
        log.warn({ lease: name }, 'the lease was lost')
        return
      }
    }
  }

  async #attempt(signal: AbortSignal): Promise<Attempt> {
    const { log, name } = this.#options
    const held = this.#held
    this.#held = undefined
    try {
      if (held) return await this.#write(held, true, signal)
      return await this.#look(signal)
    } catch (error) {
      const isOutrun = isStatusError(error, 'Conflict', 'AlreadyExists')
      // Somebody else wrote it, perhaps we ourselves with a request that was given up: a look tells.
      if (!signal.aborted && isOutrun && held) return this.#attempt(signal)
      if (!signal.aborted && !isOutrun) log.warn({ err: error, lease: name }, 'the lease cannot be read or written')
      return 'unknown'
    }
  }

  async #look(signal: AbortSignal): Promise<Attempt> {
    const { client, clock, namespace, name, identity } = this.#options
    const lease = await client.get(leaseKind, { namespace, name }, signal)
    const record = lease && recordOf(lease)
    if (record && this.#observed?.version !== record.version) {
      this.#observed = { version: record.version, at: clock.now() }
    }
    const step = decideLease({ now: clock.now(), identity, record, observed: this.#observed })
    return step === 'wait' ? 'taken' : this.#write(lease, step === 'renew', signal)
  }

  async #write(lease: Lease | undefined, renewing: boolean, signal: AbortSignal): Promise<Attempt> {
    const { client, clock, namespace, name } = this.#options
    const startedAt = clock.now()
    const spec = this.#spec(lease, renewing)
    const written = lease
      ? await client.update(leaseKind, { ...lease, spec }, signal)
      : await client.create(leaseKind, { metadata: { namespace, name }, spec }, signal)
    // An answer that comes after it was given up is worthless: by then another may lead.
    if (signal.aborted) return 'unknown'
    this.#held = written
    this.#renewedAt = startedAt
    return 'held'
  }

  #spec(current: Lease | undefined, renewing: boolean): Lease['spec'] {
    const now = microTime(this.#options.clock.now())
    const before = current?.spec
    return {
      ...before,
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#durationMs / 1000),
      acquireTime: renewing ? (before?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (renewing || !current ? 0 : 1),
    }
  }

  /**
   * Releases the lease, so that the next leader need not wait for it to run out. An abandoned renewal may still arrive
   * at the server and come in between, so after a conflict it tries again, as long as there is something to release.
   */
  async #release(): Promise<void> {
    const { clock, log, name } = this.#options
    const deadline = new AbortController()
    const cancel = clock.after(this.#releaseMs, () => deadline.abort(new Error('not let go in time')))
    try {
      while (!(await this.#tryRelease(deadline.signal))) await this.#pause(deadline.signal)
    } catch (error) {
      log.debug({ err: error, lease: name }, 'the lease was not let go; it runs out by itself')
    } finally {
      cancel()
    }
  }

  /** False when somebody wrote at the same time. */
  async #tryRelease(signal: AbortSignal): Promise<boolean> {
    const { client, clock, namespace, name, identity } = this.#options
    if (signal.aborted) throw abortReason(signal)
    const lease = await client.get(leaseKind, { namespace, name }, signal)
    if (lease?.spec?.holderIdentity !== identity) return true
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(clock.now()) }
    try {
      await client.update(leaseKind, { ...lease, spec }, signal)
      return true
    } catch (error) {
      if (isStatusError(error, 'Conflict')) return false
      throw error
    }
  }

  /** With jitter, so that candidates do not all come at once. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, random = Math.random } = this.#options
    await clock.sleep(this.#retryMs * (1 + random() * 0.2), signal).catch(() => {})
  }
}

function recordOf({ metadata, spec }: Lease): LeaseRecord {
  return {
    holder: spec?.holderIdentity ?? '',
    durationMs: (spec?.leaseDurationSeconds ?? 0) * 1000,
    version: metadata.resourceVersion ?? '',
  }
}

/** A time in Kubernetes' microsecond format. */
function microTime(now: number): string {
  return new Date(now).toISOString().replace('Z', '000Z')
}

function aborted(signal: AbortSignal): Promise<Attempt> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('unknown')
    else signal.addEventListener('abort', () => resolve('unknown'), { once: true })
  })
}
