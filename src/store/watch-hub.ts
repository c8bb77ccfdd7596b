import { SlowWatcher, type StoreEvent, type StoreSelector } from './store.ts'

/** Hands new events to those who watch. Each watcher has a bounded buffer; one that does not keep up is dropped. */
export class WatchHub {
  readonly #subscriptions = new Map<string, Set<Subscription>>()
  readonly #bufferLimit: number
  #closed = false

  constructor(bufferLimit: number) {
    this.#bufferLimit = bufferLimit
  }

  publish(event: StoreEvent): void {
    for (const subscription of this.#subscriptions.get(event.key.resource) ?? []) subscription.offer(event)
  }

  /** Events published from now on and newer than `afterRevision`. The caller closes it. */
  subscribe(selector: StoreSelector, afterRevision: number): Subscription {
    const peers = this.#subscriptions.get(selector.resource) ?? new Set()
    this.#subscriptions.set(selector.resource, peers)
    const subscription = new Subscription(selector, afterRevision, this.#bufferLimit, () => peers.delete(subscription))
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
  readonly #limit: number
  readonly #leave: () => void
  #buffer: StoreEvent[] = []
  #ended = false
  #tooSlow = false
  #wake: (() => void) | undefined

  constructor(selector: StoreSelector, afterRevision: number, limit: number, leave: () => void) {
    this.#selector = selector
    this.#afterRevision = afterRevision
    this.#limit = limit
    this.#leave = leave
  }

  offer(event: StoreEvent): void {
    const { namespace } = this.#selector
    if (event.revision <= this.#afterRevision) return
    if (namespace !== undefined && namespace !== event.key.namespace) return
    if (this.#buffer.length >= this.#limit) {
      this.#tooSlow = true
      this.#buffer = []
      this.#leave()
    } else this.#buffer.push(event)
    this.#wake?.()
  }

  /** What has gathered since the last call, waiting for the first of it; empty when the watch is over. */
  async take(): Promise<readonly StoreEvent[]> {
    if (this.#nothingYet()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    if (this.#tooSlow) throw new SlowWatcher(`more than ${this.#limit} events behind`)
    const events = this.#buffer
    this.#buffer = []
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
