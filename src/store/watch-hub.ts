import { approximateBytes } from './approximate-bytes.ts'
import { SlowWatcher, type StoreEvent, type StoreSelector } from './store.ts'

/** How far a watcher may be behind. */
export interface WatchBuffer {
  readonly events: number
  /** Of the JSON of their objects, about. */
  readonly bytes: number
}

const defaultBytes = 16 * 1024 * 1024

/** Hands new events to those who watch. Each watcher has a bounded buffer; one that does not keep up is dropped. */
export class WatchHub {
  readonly #subscriptions = new Map<string, Set<Subscription>>()
  readonly #limit: WatchBuffer
  #closed = false

  constructor(events: number, bytes = defaultBytes) {
    this.#limit = { events, bytes }
  }

  /** `text`: the JSON of its object, where that is at hand. */
  publish(event: StoreEvent, text?: string | null): void {
    const peers = this.#subscriptions.get(event.key.resource)
    if (!peers || peers.size === 0) return
    const bytes = text?.length ?? approximateBytes(event.object)
    for (const subscription of peers) subscription.offer(event, bytes)
  }

  /** Events published from now on and newer than `afterRevision`. The caller closes it. */
  subscribe(selector: StoreSelector, afterRevision: number): Subscription {
    const peers = this.#subscriptions.get(selector.resource) ?? new Set()
    this.#subscriptions.set(selector.resource, peers)
    const subscription = new Subscription(selector, afterRevision, this.#limit, () => peers.delete(subscription))
    if (this.#closed) subscription.end()
    else peers.add(subscription)
    return subscription
  }

  get size(): number {
    let size = 0
    for (const peers of this.#subscriptions.values()) size += peers.size
    return size
  }

  /** Ends every watch, now and later. */
  close(): void {
    this.#closed = true
    for (const peers of this.#subscriptions.values()) {
      for (const subscription of peers) subscription.end()
    }
  }
}

export class Subscription {
  readonly #selector: StoreSelector
  readonly #afterRevision: number
  readonly #limit: WatchBuffer
  readonly #leave: () => void
  #buffer: StoreEvent[] = []
  #bytes = 0
  #ended = false
  #tooSlow = false
  #wake: (() => void) | undefined

  constructor(selector: StoreSelector, afterRevision: number, limit: WatchBuffer, leave: () => void) {
    this.#selector = selector
    this.#afterRevision = afterRevision
    this.#limit = limit
    this.#leave = leave
  }

  offer(event: StoreEvent, bytes: number): void {
    const { namespace } = this.#selector
    if (event.revision <= this.#afterRevision) return
    if (namespace !== undefined && namespace !== event.key.namespace) return
    this.#bytes += bytes
    if (this.#isBehind()) {
      this.#tooSlow = true
      this.#buffer = []
      this.#leave()
    } else this.#buffer.push(event)
    this.#wake?.()
  }

  /** Who waits for events keeps up, however much one commit brings; and one event is never too much. */
  #isBehind(): boolean {
    if (this.#buffer.length >= this.#limit.events) return true
    return this.#bytes > this.#limit.bytes && this.#buffer.length > 0 && !this.#wake
  }

  /** What has gathered since the last call, waiting for the first of it; empty when the watch is over. */
  async take(): Promise<readonly StoreEvent[]> {
    if (this.#nothingYet()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    if (this.#tooSlow)
      throw new SlowWatcher(`more than ${this.#limit.events} events or ${this.#limit.bytes} bytes behind`)
    const events = this.#buffer
    this.#buffer = []
    this.#bytes = 0
    return events
  }

  end(): void {
    this.#ended = true
    this.#leave()
    this.#wake?.()
  }

  #nothingYet(): boolean {
    return this.#buffer.length === 0 && !this.#ended && !this.#tooSlow
  }
}
