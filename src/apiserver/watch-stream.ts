import type { Clock } from '../foundation/clock.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { isStatusError } from '../resources/status-error.ts'
import type { ObjectEvent } from './object-watch.ts'

/** Where lines go. `false`: nobody takes them any more. */
export type WriteLine = (line: string) => Promise<boolean>

export interface WatchStreamOptions {
  readonly events: AsyncIterable<ObjectEvent>
  readonly write: WriteLine
  /** How an object is shown: itself, a table, its metadata. `first` is true once. */
  readonly show: (object: KubernetesObject, first: boolean) => unknown
  /** What a bookmark looks like, which carries only a version (and says so when the beginning is complete). */
  readonly bookmark: (revision: number, initialEventsEnd: boolean) => unknown
  readonly bookmarks: boolean
  readonly sendInitialEvents: boolean
  readonly bookmarkEveryMs: number
  /** The newest revision of the store, now. */
  readonly currentRevision: () => number
  readonly clock: Clock
}

/** Sends events as JSON lines until they end or nobody reads them. A refusal on the way is an ERROR event. */
export async function streamWatch(options: WatchStreamOptions): Promise<void> {
  const bookmarks = new BookmarkTimer(options)
  let first = true
  try {
    for await (const event of options.events) {
      bookmarks.busy()
      const line = lineOf(options, event, first)
      if (line !== undefined) {
        first = false
        if (!(await options.write(line))) return
      }
      bookmarks.idle(event.revision)
    }
  } catch (error) {
    if (!isStatusError(error)) throw error
    await options.write(`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`)
  } finally {
    bookmarks.stop()
  }
}

function lineOf(options: WatchStreamOptions, event: ObjectEvent, first: boolean): string | undefined {
  if (event.type !== 'SYNCED')
    return `${JSON.stringify({ type: event.type, object: options.show(event.object, first) })}\n`
  if (!options.sendInitialEvents || !options.bookmarks) return undefined
  return `${JSON.stringify({ type: 'BOOKMARK', object: options.bookmark(event.revision, true) })}\n`
}

/**
 * Tells quiet watchers how far the world has moved, so that they can resume from there. The store hands out an event in
 * the same turn in which its revision moves; so when a turn of the event loop has passed since the revision was read
 * and the watch is still idle, every event up to it has been sent.
 */
class BookmarkTimer {
  readonly #options: WatchStreamOptions
  #cancel = () => {}
  #sentRevision = 0
  #turn = 0

  constructor(options: WatchStreamOptions) {
    this.#options = options
    this.#schedule()
  }

  busy(): void {
    this.#turn++
    this.#cancel()
  }

  idle(revision: number): void {
    this.#sentRevision = revision
    this.#schedule()
  }

  stop(): void {
    this.#turn++
    this.#cancel()
  }

  #schedule(): void {
    if (!this.#options.bookmarks) return
    this.#cancel()
    this.#cancel = this.#options.clock.after(this.#options.bookmarkEveryMs, () => this.#offer())
  }

  #offer(): void {
    const revision = this.#options.currentRevision()
    const turn = this.#turn
    setImmediate(() => {
      if (turn !== this.#turn) return
      this.#schedule()
      if (revision <= this.#sentRevision) return
      this.#sentRevision = revision
      const line = { type: 'BOOKMARK', object: this.#options.bookmark(revision, false) }
      // Who has left is noticed by the watch itself.
      void this.#options.write(`${JSON.stringify(line)}\n`)
    })
  }
}
