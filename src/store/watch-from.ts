import type { StoreEvent, StoreSelector } from './store.ts'
import type { Subscription, WatchHub } from './watch-hub.ts'

/** The past, as far back as it is kept. */
export interface StoreHistory {
  /** At most `limit` events after the revision, oldest first. Throws `StoreCompacted`. */
  read(selector: StoreSelector, afterRevision: number, limit: number): readonly StoreEvent[]
}

export interface WatchSources {
  readonly history: StoreHistory
  readonly hub: WatchHub
}

const pageSize = 256

export function watchFrom(
  sources: WatchSources,
  selector: StoreSelector,
  fromRevision: number,
  signal: AbortSignal,
): AsyncIterableIterator<StoreEvent> {
  return new StoreWatch(sources, selector, fromRevision, signal)
}

/**
 * History first, then what is new. The subscription starts in the same turn in which history turned out to be used up, so
 * nothing falls between the two and nothing is in both; and a long replay fills no buffer.
 *
 * An iterator rather than a generator: every write passes through here once for everybody who watches its kind, and a
 * generator takes several turns to hand on what this one has at hand.
 */
class StoreWatch implements AsyncIterableIterator<StoreEvent> {
  readonly #sources: WatchSources
  readonly #selector: StoreSelector
  readonly #signal: AbortSignal
  readonly #stop = () => this.#end()
  #subscription: Subscription | undefined
  #events: readonly StoreEvent[] = []
  #next = 0
  #seen: number
  #isOver = false

  constructor(sources: WatchSources, selector: StoreSelector, fromRevision: number, signal: AbortSignal) {
    this.#sources = sources
    this.#selector = selector
    this.#seen = fromRevision
    this.#signal = signal
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<StoreEvent, undefined>> {
    if (this.#next >= this.#events.length && !this.#isOver) await this.#fill()
    const event = this.#events[this.#next]
    if (this.#isOver || !event || this.#signal.aborted) return this.return()
    this.#next += 1
    this.#seen = event.revision
    return { value: event, done: false }
  }

  async return(): Promise<IteratorResult<StoreEvent, undefined>> {
    this.#end()
    return { value: undefined, done: true }
  }

  /** With what comes next; with nothing when the watch is over. */
  async #fill(): Promise<void> {
    this.#next = 0
    try {
      if (!this.#subscription) {
        this.#events = this.#signal.aborted ? [] : this.#sources.history.read(this.#selector, this.#seen, pageSize)
        if (this.#events.length > 0 || this.#signal.aborted) return
        this.#subscription = this.#sources.hub.subscribe(this.#selector, this.#seen)
        this.#signal.addEventListener('abort', this.#stop)
      }
      this.#events = await this.#subscription.take()
    } catch (error) {
      this.#end()
      throw error
    }
  }

  #end(): void {
    this.#isOver = true
    this.#events = []
    this.#signal.removeEventListener('abort', this.#stop)
    this.#subscription?.end()
  }
}
