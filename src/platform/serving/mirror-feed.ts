import type { ObjectCache } from '../../cluster/informer.ts'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { keyOf, type ObjectRef, refOf } from '../../resources/object-ref.ts'

/** What has changed since the last message. The first message has everything. */
export interface MirrorNews<T> {
  readonly synced: boolean
  readonly put: readonly T[]
  readonly gone: readonly ObjectRef[]
}

export interface MirrorFeedOptions<T extends KubernetesObject> {
  readonly cache: ObjectCache<T>
  /** Which objects the other thread needs. */
  readonly concerns: (object: T) => boolean
  readonly tell: (news: MirrorNews<T>) => void
  readonly clock: Clock
}

const syncCheckMs = 100

/**
 * Tells another thread what a cache holds. Changes in one turn of the event loop are sent together, each object once
 * and in its latest state, so that a message is never larger than the cache itself.
 */
export class MirrorFeed<T extends KubernetesObject> {
  readonly #options: MirrorFeedOptions<T>
  readonly #unsubscribe: () => void
  readonly #changed = new Map<string, ObjectRef>()
  #cancelCheck: CancelTimer = () => {}
  #closed = false

  constructor(options: MirrorFeedOptions<T>) {
    this.#options = options
    const { cache, concerns } = options
    this.#unsubscribe = cache.onChange(({ object, previous }) => {
      if (concerns(object) || (previous && concerns(previous))) this.#changedNow(refOf(object))
    })
    this.#awaitSync()
  }

  /** Everything in the cache, for a thread that has just started. */
  whole(): MirrorNews<T> {
    const { cache, concerns } = this.#options
    return { synced: cache.synced, put: cache.list().filter(concerns), gone: [] }
  }

  close(): void {
    this.#closed = true
    this.#cancelCheck()
    this.#unsubscribe()
  }

  /** Checks now and then, since a cache that is still empty when it has synced announces no change. */
  #awaitSync(): void {
    const { cache, clock, tell } = this.#options
    if (cache.synced) return
    this.#cancelCheck = clock.after(syncCheckMs, () => {
      if (cache.synced) tell(this.whole())
      else this.#awaitSync()
    })
  }

  #changedNow(ref: ObjectRef): void {
    if (this.#changed.size === 0) setImmediate(() => this.#tellChanged())
    this.#changed.set(keyOf(ref), ref)
  }

  #tellChanged(): void {
    if (this.#closed) return
    const { cache, concerns, tell } = this.#options
    const put: T[] = []
    const gone: ObjectRef[] = []
    for (const ref of this.#changed.values()) {
      const object = cache.get(ref)
      if (object && concerns(object)) put.push(object)
      else gone.push(ref)
    }
    this.#changed.clear()
    tell({ synced: cache.synced, put, gone })
  }
}
