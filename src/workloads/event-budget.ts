import type { EventRecorder } from '../cluster/event-recorder.ts'
import type { Clock } from '../foundation/clock.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'

export type Events = Pick<EventRecorder, 'record'>

interface Bucket {
  tokens: number
  at: number
}

/** As Kubernetes' own recorder: 25 at once, then one every five minutes, for each object. */
const burst = 25
const refillMs = 5 * 60_000
const mostObjects = 4_096

/** Lets an owner of a thousand Pods say what happens to it a few times instead of a thousand times. */
export class EventBudget implements Events {
  readonly #events: Events
  readonly #clock: Pick<Clock, 'now'>
  readonly #buckets = new Map<string, Bucket>()

  constructor(events: Events, clock: Pick<Clock, 'now'>) {
    this.#events = events
    this.#clock = clock
  }

  record(about: KubernetesObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (this.#take(about.metadata.uid ?? about.metadata.name)) this.#events.record(about, type, reason, message)
  }

  #take(key: string): boolean {
    const now = this.#clock.now()
    const known = this.#buckets.get(key) ?? { tokens: burst, at: now }
    const tokens = Math.min(burst, known.tokens + (now - known.at) / refillMs)
    this.#buckets.delete(key)
    this.#buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now })
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > mostObjects && oldest !== undefined) this.#buckets.delete(oldest)
    return tokens >= 1
  }
}
