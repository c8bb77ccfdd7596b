import type { Clock } from '../../foundation/clock.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { isStatusError } from '../../resources/status-error.ts'
import type { EventType } from './encoded-objects.ts'
import type { FlowTicket } from '../flow-control/flow-control.ts'
import type { ObjectEvent } from '../reading/object-watch.ts'

/** Writes a line; `false` when nobody reads any more. */
export type WriteLine = (line: string | Buffer) => Promise<boolean>

export interface WatchStreamOptions {
  readonly events: AsyncIterable<ObjectEvent>
  readonly write: WriteLine
  /**
   * Encodes an event as the object itself, a table or its metadata; clients that see the same share the bytes. `first`
   * is true for the first event only.
   */
  readonly line: (type: EventType, object: KubernetesObject, first: boolean) => string | Buffer
  /** The watch's share of the event loop: one write is sent to every watch, and there may be many. */
  readonly turns?: Pick<FlowTicket, 'isCrowded' | 'next' | 'measure'> | undefined
  /** Makes a bookmark, which carries only a version, and says when the initial objects are complete. */
  readonly bookmark: (revision: number, initialEventsEnd: boolean) => unknown
  readonly bookmarks: boolean
  readonly bookmarkEveryMs: number
  /** When to send one more bookmark, counted from the start. */
  readonly lastBookmarkAfterMs?: number | undefined
  /** The newest revision of the store, now. */
  readonly currentRevision: () => number
  readonly clock: Clock
}

/** Sends events as JSON lines until they end or nobody reads them. A failure on the way becomes an ERROR event. */
export async function streamWatch(options: WatchStreamOptions): Promise<void> {
  const { turns } = options
  const bookmarks = new BookmarkTimer(options)
  let first = true
  try {
    for await (const event of options.events) {
      bookmarks.busy()
      if (turns?.isCrowded) await turns.next()
      const told = turns ? turns.measure(() => tell(options, event, first)) : tell(options, event, first)
      if (told) {
        first = false
        if (!(await told)) return
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

function tell(options: WatchStreamOptions, event: ObjectEvent, first: boolean): Promise<boolean> | undefined {
  const line = lineOf(options, event, first)
  return line === undefined ? undefined : options.write(line)
}

function lineOf(options: WatchStreamOptions, event: ObjectEvent, first: boolean): string | Buffer | undefined {
  if (event.type !== 'SYNCED' && event.type !== 'PASSED') {
    return options.line(event.type, event.object, first)
  }
  if (!options.bookmarks) return undefined
  const bookmark = options.bookmark(event.revision, event.type === 'SYNCED')
  return `${JSON.stringify({ type: 'BOOKMARK', object: bookmark })}\n`
}

/**
 * Sends bookmarks to quiet watches, so that they can resume from a recent version. The store emits an event in the same
 * turn in which its revision moves; so if a turn has passed since the revision was read and the watch is still idle,
 * every event up to that revision has been sent.
 */
class BookmarkTimer {
  readonly #options: WatchStreamOptions
  #cancel = () => {}
  #cancelLast = () => {}
  #sentRevision = 0
  #turn = 0
  #isBusy = false

  constructor(options: WatchStreamOptions) {
    this.#options = options
    this.#schedule()
    const { bookmarks, lastBookmarkAfterMs = 0, clock } = options
    if (bookmarks && lastBookmarkAfterMs > 0) this.#cancelLast = clock.after(lastBookmarkAfterMs, () => this.#offer())
  }

  busy(): void {
    this.#isBusy = true
    this.#turn++
    this.#cancel()
  }

  idle(revision: number): void {
    this.#isBusy = false
    this.#sentRevision = revision
    this.#schedule()
  }

  stop(): void {
    this.#turn++
    this.#cancel()
    this.#cancelLast()
  }

  #schedule(): void {
    if (!this.#options.bookmarks) return
    this.#cancel()
    this.#cancel = this.#options.clock.after(this.#options.bookmarkEveryMs, () => this.#offer())
  }

  /** Sends nothing while an event is being written: a slow reader has not seen what came after it. */
  #offer(): void {
    if (this.#isBusy) return
    const revision = this.#options.currentRevision()
    const turn = this.#turn
    setImmediate(() => {
      if (turn !== this.#turn) return
      this.#schedule()
      if (revision <= this.#sentRevision) return
      this.#sentRevision = revision
      const line = { type: 'BOOKMARK', object: this.#options.bookmark(revision, false) }
      // The watch itself notices when the client has left.
      void this.#options.write(`${JSON.stringify(line)}\n`)
    })
  }
}
