import type { StoreEvent, StoreSelector } from '../store.ts'
import type { Subscription, WatchHub } from './watch-hub.ts'

/** The past, as far back as it is kept. */
export interface StoreHistory {
  /** The newest revision that watchers were told of. */
  readonly revision: number
  /** At most `limit` events after the revision, oldest first. Throws `StoreCompacted`. */
  read(selector: StoreSelector, afterRevision: number, limit: number): HistoryPage | Promise<HistoryPage>
}

export interface HistoryPage {
  readonly events: readonly StoreEvent[]
  /** The newest revision that was looked at: up to it there are no other events. */
  readonly revision: number
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
 * Replays history first, then follows what is new. The subscription starts in the same turn in which history reaches
 * the newest published revision, so that no event is missed or seen twice, and a long replay fills no buffer.
 *
 * An iterator rather than a generator: every write passes through here once per watcher of its kind, and a generator
 * would take several turns to pass on what is already there.
 */
class StoreWatch implements AsyncIterableIterator<StoreEvent> {
  readonly #sources: WatchSources
  readonly #selector: StoreSelector
  readonly #signal: AbortSignal
  readonly #stop = () => this.#end()
  /** Ends the wait for a page of history. */
  #giveUp: (() => void) | undefined
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

  /** Fills the buffer with what comes next; with nothing when the watch is over. */
  async #fill(): Promise<void> {
    this.#next = 0
    this.#events = []
    try {
      while (!this.#subscription) {
        if (this.#isDone()) return
        if (this.#seen >= this.#sources.history.revision) this.#subscribe()
        else if (await this.#replay()) return
      }
      this.#events = await this.#subscription.take()
    } catch (error) {
      this.#end()
      throw error
    }
  }

  /** Reads the next page of history, as long as somebody waits for it. Returns false when it was empty. */
  async #replay(): Promise<boolean> {
    const { history } = this.#sources
    const reading = history.read(this.#selector, this.#seen, pageSize)
    const page = reading instanceof Promise ? await this.#unlessOver(reading) : reading
    if (!page || this.#isDone()) return true
    this.#events = page.events
    if (page.events.length === 0) this.#seen = Math.max(this.#seen, page.revision)
    return page.events.length > 0
  }

  #unlessOver(reading: Promise<HistoryPage>): Promise<HistoryPage | undefined> {
    this.#signal.addEventListener('abort', this.#stop)
    return new Promise((resolve, reject) => {
      this.#giveUp = () => resolve(undefined)
      reading.then(resolve, reject)
    })
  }

  #subscribe(): void {
    const subscription = this.#sources.hub.subscribe(this.#selector, this.#seen)
    // The rest of what was taken is dropped, too: a reader that slow resumes from where it is.
    subscription.onDrop = () => {
      this.#events = []
    }
    this.#subscription = subscription
    this.#signal.addEventListener('abort', this.#stop)
  }

  #isDone(): boolean {
    return this.#isOver || this.#signal.aborted
  }

  #end(): void {
    this.#isOver = true
    this.#events = []
    this.#signal.removeEventListener('abort', this.#stop)
    this.#giveUp?.()
    this.#subscription?.end()
  }
}
