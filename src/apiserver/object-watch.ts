import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { StatusError } from '../resources/status-error.ts'
import { SlowWatcher, type Store, StoreCompacted, type StoreEvent, type StoreSelector } from '../store/store.ts'

export type ObjectEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject; readonly revision: number }
  /** What was there at the beginning has been sent. */
  | { readonly type: 'SYNCED'; readonly revision: number }
  /** Much has gone by that this client does not see: it can resume from here. */
  | { readonly type: 'PASSED'; readonly revision: number }

export interface WatchRequest {
  readonly selector: StoreSelector
  readonly matches: (object: KubernetesObject) => boolean
  /** How the client sees what is stored. */
  readonly show: (object: KubernetesObject) => KubernetesObject
  /** `undefined`: begin with what is there. */
  readonly fromRevision: number | undefined
}

/** Well within the history that a store keeps. */
const passedEvery = 200

/**
 * Changes of the objects a client selected. Objects that begin or cease to match are added and deleted as far as this
 * client is concerned. Ends when the signal is aborted or the client reads too slowly; throws Expired.
 */
export async function* watchObjects(
  store: Store,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<ObjectEvent> {
  let from = request.fromRevision
  if (from === undefined) {
    const list = store.list(request.selector)
    from = list.revision
    for (const { object: stored, revision } of list.items) {
      const object = request.show(stored)
      if (request.matches(object)) yield { type: 'ADDED', object, revision }
    }
    yield { type: 'SYNCED', revision: from }
  }
  try {
    let told = from
    for await (const event of store.watch(request.selector, from, signal)) {
      const seen = asSeen(event, request)
      if (!seen && event.revision - told < passedEvery) continue
      told = event.revision
      yield seen ?? { type: 'PASSED', revision: event.revision }
    }
  } catch (error) {
    // The real server closes the stream of a slow client too; it resumes from its last version.
    if (error instanceof SlowWatcher) return
    if (error instanceof StoreCompacted) {
      const message = `too old resource version: ${from} (${error.oldestRevision})`
      throw new StatusError('Expired', message, {}, { cause: error })
    }
    throw error
  }
}

function asSeen(event: StoreEvent, { matches, show }: WatchRequest): ObjectEvent | undefined {
  const { revision } = event
  const object = show(event.object)
  const previous = event.previous && show(event.previous)
  const before = previous !== undefined && matches(previous)
  if (event.type === 'deleted') {
    return matches(object) || before ? { type: 'DELETED', object, revision } : undefined
  }
  if (matches(object)) return { type: before ? 'MODIFIED' : 'ADDED', object, revision }
  if (!before) return undefined
  const metadata = { ...previous.metadata, resourceVersion: String(revision) }
  return { type: 'DELETED', object: { ...previous, metadata }, revision }
}
