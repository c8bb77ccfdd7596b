import type { StoreEvent, StoreSelector } from './store.ts'
import type { WatchHub } from './watch-hub.ts'

/** The past, as far back as it is kept. */
export interface StoreHistory {
  /** At most `limit` events after the revision, oldest first. Throws `StoreCompacted`. */
  read(selector: StoreSelector, afterRevision: number, limit: number): readonly StoreEvent[]
}

const pageSize = 256

/**
 * History first, then what is new. The subscription starts in the same turn in which history turned out to be used up, so
 * nothing falls between the two and nothing is in both; and a long replay fills no buffer.
 */
export async function* watchFrom(
  sources: { readonly history: StoreHistory; readonly hub: WatchHub },
  selector: StoreSelector,
  fromRevision: number,
  signal: AbortSignal,
): AsyncGenerator<StoreEvent, void, undefined> {
  let seen = fromRevision
  for (;;) {
    if (signal.aborted) return
    const page = sources.history.read(selector, seen, pageSize)
    if (page.length === 0) break
    for (const event of page) {
      if (signal.aborted) return
      seen = event.revision
      yield event
    }
  }
  const subscription = sources.hub.subscribe(selector, seen)
  try {
    for (;;) {
      const events = await subscription.take(signal)
      if (events.length === 0) return
      for (const event of events) {
        if (signal.aborted) return
        yield event
      }
    }
  } finally {
    subscription.end()
  }
}
