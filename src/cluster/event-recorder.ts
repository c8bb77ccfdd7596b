import { randomBytes } from 'node:crypto'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { eventKind } from '../resources/event.ts'
import { type KubernetesObject, timestamp } from '../resources/kubernetes-object.ts'
import { isStatusError } from '../resources/status-error.ts'
import type { ClusterClient } from './cluster-client.ts'

export interface EventRecorderOptions {
  readonly client: ClusterClient
  readonly component: string
  readonly clock: Clock
  readonly log: Logger
  /** How long what is told may wait to be written, so that telling does not slow down what it tells of. */
  readonly settleMs?: number
}

/** For whoever is on the way from a request to its process: a wake is over by then. */
export const eventSettleMs = 200

interface Occurrence {
  readonly about: KubernetesObject
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly at: number
}

/** An Event that was written and may be counted up. */
interface Recorded {
  readonly name: string
  readonly namespace: string
  readonly count: number
  readonly at: number
}

const aggregationMs = 10 * 60_000
const longestQueue = 256
const mostRemembered = 1_000
const writeDeadlineMs = 10_000
/** Kubernetes takes no longer message. */
const longestMessage = 1_024

/**
 * Tells people what happened, as Kubernetes Events. Never in the way of the work it tells of: it is written in the background,
 * in order, and when the cluster does not take it, it is logged and dropped.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #queue: Occurrence[] = []
  readonly #recorded = new Map<string, Recorded>()
  #writing: Promise<void> | undefined
  #endSettling: () => void = () => {}

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  record(about: KubernetesObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { clock, log } = this.#options
    if (this.#queue.length >= longestQueue) {
      log.warn({ reason, message }, 'an event was dropped: too many wait to be written')
      return
    }
    this.#queue.push({ about, type, reason, message: message.slice(0, longestMessage), at: clock.now() })
    this.#writing ??= this.#writeAll()
  }

  /** Resolves when everything recorded so far is written or dropped. */
  async idle(): Promise<void> {
    this.#endSettling()
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    await this.#settle()
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      try {
        await this.#write(next)
      } catch (error) {
        this.#options.log.warn({ err: error, reason: next.reason, message: next.message }, 'an event was not written')
      }
    }
    this.#writing = undefined
  }

  #settle(): Promise<void> | undefined {
    const { clock, settleMs = 0 } = this.#options
    if (settleMs === 0) return undefined
    return new Promise((resolve) => {
      const cancel = clock.after(settleMs, resolve)
      this.#endSettling = () => {
        cancel()
        resolve()
      }
    })
  }

  async #write(occurrence: Occurrence): Promise<void> {
    const key = identity(occurrence)
    const recorded = this.#recorded.get(key)
    this.#recorded.delete(key)
    const counted =
      recorded && occurrence.at - recorded.at < aggregationMs ? await this.#countUp(recorded, occurrence) : undefined
    this.#recorded.set(key, counted ?? (await this.#create(occurrence)))
    if (this.#recorded.size <= mostRemembered) return
    const [oldest] = this.#recorded.keys()
    if (oldest !== undefined) this.#recorded.delete(oldest)
  }

  /** Undefined when that Event is gone. */
  async #countUp(recorded: Recorded, { at }: Occurrence): Promise<Recorded | undefined> {
    const next = { ...recorded, count: recorded.count + 1, at }
    try {
      await this.#withDeadline((signal) =>
        this.#options.client.patch(eventKind, next, { count: next.count, lastTimestamp: timestamp(at) }, signal),
      )
      return next
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined
      throw error
    }
  }

  async #create({ about, type, reason, message, at }: Occurrence): Promise<Recorded> {
    const { metadata } = about
    const namespace = metadata.namespace ?? 'default'
    const name = `${metadata.name}.${randomBytes(8).toString('hex')}`
    const event = {
      metadata: { name, namespace },
      involvedObject: {
        apiVersion: about.apiVersion,
        kind: about.kind,
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
      },
      type,
      reason,
      message,
      source: { component: this.#options.component },
      firstTimestamp: timestamp(at),
      lastTimestamp: timestamp(at),
      count: 1,
    }
    await this.#withDeadline((signal) => this.#options.client.create(eventKind, event, signal))
    return { name, namespace, count: 1, at }
  }

  async #withDeadline(act: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const deadline = new AbortController()
    const cancel = this.#options.clock.after(writeDeadlineMs, () => {
      deadline.abort(new Error(`the cluster did not take an event in ${writeDeadlineMs} ms`))
    })
    try {
      await act(deadline.signal)
    } finally {
      cancel()
    }
  }
}

function identity({ about, type, reason, message }: Occurrence): string {
  const { namespace, name, uid } = about.metadata
  return [about.kind, namespace, name, uid, type, reason, message].join('\n')
}
