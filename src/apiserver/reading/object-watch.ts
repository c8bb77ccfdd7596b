import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import {
  SlowWatcher,
  type Store,
  StoreCompacted,
  type StoreEvent,
  type StoreSelector,
  type StoredObject,
} from '../../store/store.ts'

export type ObjectEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject; readonly revision: number }
  /** The initial objects have been sent. */
  | { readonly type: 'SYNCED'; readonly revision: number }
  /** Many changes have passed that this client does not see: it can resume from this revision. */
  | { readonly type: 'PASSED'; readonly revision: number }

export interface WatchRequest {
  readonly selector: StoreSelector
  readonly matches: (object: KubernetesObject) => boolean
  /** Turns a stored object into what the client sees. */
  readonly show: (object: KubernetesObject) => KubernetesObject
  /** `undefined`: begin with the existing objects. */
  readonly fromRevision: number | undefined
}

/** Well within the history that a store keeps. */
const passedEvery = 200

/** The most objects that are looked at in one turn of the event loop, however few of them match. */
const listedPerTurn = 1_024

/** What ends a watch, and what to do when it has ended. */
export interface WatchLife {
  readonly signal: AbortSignal
  release(): void
}

/**
 * The changes of the objects a client selected. Objects that begin or cease to match are added or deleted as far as
 * this client is concerned. Ends when the signal is aborted or the client reads too slowly; throws Expired. Nothing
 * happens before the first change is asked for.
 */
export class ObjectWatch implements AsyncIterableIterator<ObjectEvent> {
  readonly #store: Store
  readonly #request: WatchRequest
  readonly #begin: () => WatchLife
  #life: WatchLife | undefined
  /** The initial objects, and how many of them were sent. */
  #list: readonly StoredObject[] = []
  #listed = 0
  #isListed = false
  #from = 0
  #told = 0
  #changes: AsyncIterator<StoreEvent> | undefined
  #isOver = false

  constructor(store: Store, request: WatchRequest, begin: () => WatchLife) {
    this.#store = store
    this.#request = request
    this.#begin = begin
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<ObjectEvent, undefined>> {
    if (this.#isOver) return this.return()
    try {
      const life = (this.#life ??= this.#start())
      if (!this.#isListed) return { value: await this.#nextListed(), done: false }
      this.#changes ??= this.#store.watch(this.#request.selector, this.#from, life.signal)[Symbol.asyncIterator]()
      for (;;) {
        const { value: event, done } = await this.#changes.next()
        if (done) return this.return()
        const seen = asSeen(event, this.#request)
        if (!seen && event.revision - this.#told < passedEvery) continue
        this.#told = event.revision
        return { value: seen ?? { type: 'PASSED', revision: event.revision }, done: false }
      }
    } catch (error) {
      await this.return()
      // The real server closes the stream of a slow client, too; the client resumes from its last version.
      if (error instanceof SlowWatcher) return { value: undefined, done: true }
      if (!(error instanceof StoreCompacted)) throw error
      const message = `too old resource version: ${this.#from} (${error.oldestRevision})`
      throw new StatusError('Expired', message, {}, { cause: error })
    }
  }

  async return(): Promise<IteratorResult<ObjectEvent, undefined>> {
    if (!this.#isOver) {
      this.#isOver = true
      this.#list = []
      await this.#changes?.return?.()
      this.#life?.release()
    }
    return { value: undefined, done: true }
  }

  #start(): WatchLife {
    const { fromRevision, selector } = this.#request
    this.#isListed = fromRevision !== undefined
    const { items, revision } = this.#isListed ? { items: [], revision: fromRevision ?? 0 } : this.#store.list(selector)
    this.#list = items
    this.#from = revision
    this.#told = revision
    return this.#begin()
  }

  async #nextListed(): Promise<ObjectEvent> {
    const { show, matches } = this.#request
    for (let item = this.#list[this.#listed]; item; item = this.#list[this.#listed]) {
      this.#listed += 1
      if (this.#listed % listedPerTurn === 0) await nextTurn()
      const object = show(item.object)
      if (matches(object)) return { type: 'ADDED', object, revision: item.revision }
    }
    this.#isListed = true
    this.#list = []
    return { type: 'SYNCED', revision: this.#from }
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
