import { approximateBytes } from './approximate-bytes.ts'
import { SlowWatcher, type StoreEvent, type StoreSelector } from '../store.ts'

export interface WatchBuffer {
  readonly events: number
  /** Roughly, of the JSON of the objects. */
  readonly bytes: number
}

export interface WatchHubLimits {
  readonly bytes?: number | undefined
  /** What all watchers together may hold back, each event counted once. */
  readonly allBytes?: number | undefined
}

const defaultBytes = 16 * 1024 * 1024
const defaultAllBytes = 64 * 1024 * 1024

/** An event that some watcher has not dealt with yet; shared by watchers of the same. */
interface HeldEvent {
  readonly bytes: number
  holders: number
}

/**
 * Passes new events to watchers. Each watcher has a bounded buffer, and so have all of them together: one that does not
 * keep up is dropped, and so is the one that holds most when all together hold too much.
 */
export class WatchHub {
  readonly #subscriptions = new Map<string, Set<Subscription>>()
  readonly #limit: WatchBuffer
  readonly #held: HeldBytes
  #closed = false

  constructor(events: number, { bytes = defaultBytes, allBytes = defaultAllBytes }: WatchHubLimits = {}) {
    this.#limit = { events, bytes }
    this.#held = new HeldBytes(allBytes)
  }

  /** `text` is the JSON of the object, where it is known. */
  publish(event: StoreEvent, text?: string | null): void {
    const peers = this.#subscriptions.get(event.key.resource)
    if (!peers || peers.size === 0) return
    const held = { bytes: text?.length ?? approximateBytes(event.object), holders: 0 }
    for (const subscription of peers) subscription.offer(event, held)
    let isSpare = true
    while (isSpare && this.#held.isTooMuch) isSpare = this.#dropGreediest()
  }

  /** Events newer than `afterRevision`, published from now on. The caller must close it. */
  subscribe(selector: StoreSelector, afterRevision: number): Subscription {
    const peers = this.#subscriptions.get(selector.resource) ?? new Set()
    this.#subscriptions.set(selector.resource, peers)
    const leave = () => peers.delete(subscription)
    const subscription = new Subscription(selector, afterRevision, this.#limit, this.#held, leave)
    if (this.#closed) subscription.end()
    else peers.add(subscription)
    return subscription
  }

  get size(): number {
    let size = 0
    for (const peers of this.#subscriptions.values()) size += peers.size
    return size
  }

  /** How much is held back for anybody, each event counted once. */
  get heldBytes(): number {
    return this.#held.bytes
  }

  /** Ends every watch, now and later. */
  close(): void {
    this.#closed = true
    for (const peers of this.#subscriptions.values()) {
      for (const subscription of peers) subscription.end()
    }
  }

  /** `false`: nobody is behind. */
  #dropGreediest(): boolean {
    let greediest: Subscription | undefined
    for (const peers of this.#subscriptions.values()) {
      for (const subscription of peers) {
        if (subscription.heldBytes > (greediest?.heldBytes ?? 0)) greediest = subscription
      }
    }
    greediest?.drop()
    return greediest !== undefined
  }
}

/** The size of all held events, each counted once however many watchers hold it. */
class HeldBytes {
  readonly #most: number
  bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  get isTooMuch(): boolean {
    return this.bytes > this.#most
  }

  take(event: HeldEvent): void {
    if (event.holders === 0) this.bytes += event.bytes
    event.holders += 1
  }

  giveBack(event: HeldEvent): void {
    event.holders -= 1
    if (event.holders === 0) this.bytes -= event.bytes
  }
}

export class Subscription {
  readonly #selector: StoreSelector
  readonly #afterRevision: number
  readonly #limit: WatchBuffer
  readonly #all: HeldBytes
  readonly #leave: () => void
  #buffer: StoreEvent[] = []
  /** Events in the buffer. */
  #held: HeldEvent[] = []
  /** Events that were taken but are not dealt with yet. */
  #taken: HeldEvent[] = []
  #bytes = 0
  #ended = false
  #tooSlow = false
  #wake: (() => void) | undefined
  /** Called when the watcher is dropped: there is no point in going on with what was taken. */
  onDrop: (() => void) | undefined

  constructor(selector: StoreSelector, afterRevision: number, limit: WatchBuffer, all: HeldBytes, leave: () => void) {
    this.#selector = selector
    this.#afterRevision = afterRevision
    this.#limit = limit
    this.#all = all
    this.#leave = leave
  }

  /** How much it holds back; nothing while it waits for more. */
  get heldBytes(): number {
    if (this.#wake) return 0
    return this.#bytes + this.#taken.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  offer(event: StoreEvent, held: HeldEvent): void {
    const { namespace } = this.#selector
    if (event.revision <= this.#afterRevision) return
    if (namespace !== undefined && namespace !== event.key.namespace) return
    this.#bytes += held.bytes
    if (this.#isBehind()) return this.drop()
    this.#buffer.push(event)
    this.#held.push(held)
    this.#all.take(held)
    this.#wake?.()
  }

  /** A watcher that waits for events keeps up, however much one commit brings; and a single event is never too much. */
  #isBehind(): boolean {
    if (this.#buffer.length >= this.#limit.events) return true
    return this.#bytes > this.#limit.bytes && this.#buffer.length > 0 && !this.#wake
  }

  /** Drops the watcher because it does not keep up. */
  drop(): void {
    this.#tooSlow = true
    this.#forget()
    this.#leave()
    this.onDrop?.()
    this.#wake?.()
  }

  /** The events since the last call, waiting for the first of them; empty when the watch is over. */
  async take(): Promise<readonly StoreEvent[]> {
    for (const held of this.#taken) this.#all.giveBack(held)
    this.#taken = []
    if (this.#nothingYet()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    if (this.#tooSlow)
      throw new SlowWatcher(`more than ${this.#limit.events} events or ${this.#limit.bytes} bytes behind`)
    const events = this.#buffer
    this.#taken = this.#held
    this.#held = []
    this.#buffer = []
    this.#bytes = 0
    return events
  }

  end(): void {
    this.#ended = true
    this.#forget()
    this.#leave()
    this.#wake?.()
  }

  #forget(): void {
    for (const held of this.#held) this.#all.giveBack(held)
    for (const held of this.#taken) this.#all.giveBack(held)
    this.#held = []
    this.#taken = []
    this.#buffer = []
    this.#bytes = 0
  }

  #nothingYet(): boolean {
    return this.#buffer.length === 0 && !this.#ended && !this.#tooSlow
  }
}
