import { randomBytes } from 'node:crypto'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { eventKind } from '../resources/event.ts'
import { type KubernetesObject, timestamp } from '../resources/kubernetes-object.ts'
import { isStatusError } from '../resources/status-error.ts'
import type { ClusterClient } from './cluster-client.ts'
import { controllerFigures } from './controller-figures.ts'
import { type Correlated, EventCorrelator } from './event-correlator.ts'

export interface EventRecorderOptions {
  readonly client: ClusterClient
  readonly component: string
  readonly clock: Clock
  readonly log: Logger
  /** How long an Event may wait to be written, so that reporting does not slow down what it reports. */
  readonly settleMs?: number
}

/** The part of the recorder that those who report something use. */
export type Events = Pick<EventRecorder, 'record'>

/** For controllers on the way from a request to its process: by then a wake is over. */
export const eventSettleMs = 200

const longestQueue = 256
const writeDeadlineMs = 10_000
/** Kubernetes accepts no longer message. */
const longestMessage = 1_024

/**
 * Reports what happened as Kubernetes Events. Never in the way of the work itself: Events are written in the
 * background, in order, and logged and dropped when the cluster does not take them.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #correlator = new EventCorrelator()
  /** By key: what happens again before it is written is written once. */
  readonly #waiting = new Map<string, Correlated>()
  #writing: Promise<void> | undefined
  #endSettling: () => void = () => {}
  #overflowing = false

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  record(about: KubernetesObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const at = this.#options.clock.now()
    const next = this.#correlator.correlate({ about, type, reason, message: message.slice(0, longestMessage), at })
    if (!next) return this.#drop()
    if (this.#waiting.size >= longestQueue && !this.#waiting.has(next.key)) return this.#overflow(next)
    this.#waiting.set(next.key, next)
    this.#writing ??= this.#writeAll()
  }

  /** Resolves when everything recorded so far is written or dropped. */
  async idle(): Promise<void> {
    this.#endSettling()
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    await this.#settle()
    for (let next = this.#next(); next; next = this.#next()) {
      try {
        await this.#write(next)
      } catch (error) {
        this.#drop()
        this.#options.log.warn({ err: error, reason: next.reason, message: next.message }, 'an event was not written')
      }
    }
    this.#overflowing = false
    this.#writing = undefined
  }

  #next(): Correlated | undefined {
    const [next] = this.#waiting.values()
    if (next) this.#waiting.delete(next.key)
    return next
  }

  #drop(): void {
    controllerFigures.eventsDropped.count(this.#options.component)
  }

  /** Logged once until there is room again, because it happens when there is too much of everything. */
  #overflow({ reason, message }: Correlated): void {
    this.#drop()
    if (this.#overflowing) return
    this.#overflowing = true
    this.#options.log.warn({ reason, message }, 'events are dropped: too many wait to be written')
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

  async #write(next: Correlated): Promise<void> {
    // Asked only now, because it may have been written while this one waited.
    const name = this.#correlator.nameOf(next.key)
    if (name !== undefined && (await this.#countUp(next, name))) return
    const first = name === undefined ? next : this.#correlator.restart(next)
    this.#correlator.written(next.key, await this.#create(first))
  }

  /** False when that Event is gone. */
  async #countUp({ about, count, message, at }: Correlated, name: string): Promise<boolean> {
    const { client } = this.#options
    const ref = { namespace: namespaceOf(about), name }
    const patch = { count, message: message.slice(0, longestMessage), lastTimestamp: timestamp(at) }
    try {
      await this.#withDeadline((signal) => client.patch(eventKind, ref, patch, signal))
      return true
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return false
      throw error
    }
  }

  /** Returns the name of the Event. */
  async #create({ about, type, reason, message, at, count, firstAt }: Correlated): Promise<string> {
    const { metadata } = about
    const name = `${metadata.name}.${randomBytes(8).toString('hex')}`
    const event = {
      metadata: { name, namespace: namespaceOf(about) },
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
      message: message.slice(0, longestMessage),
      source: { component: this.#options.component },
      firstTimestamp: timestamp(firstAt),
      lastTimestamp: timestamp(at),
      count,
    }
    await this.#withDeadline((signal) => this.#options.client.create(eventKind, event, signal))
    return name
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

/** Events about objects without a namespace are in `default`. */
function namespaceOf({ metadata }: KubernetesObject): string {
  return metadata.namespace ?? 'default'
}
