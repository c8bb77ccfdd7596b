import type { ObjectCache, ObjectChange } from '../cluster/informer.ts'
import type { CancelTimer, Clock } from '../foundation/clock.ts'
import { type KubernetesObject, keyOf, type ObjectRef, refOf } from '../resources/kubernetes-object.ts'

/** What has changed since the last news; the first have everything. */
export interface MirrorNews<T> {
  readonly synced: boolean
  readonly put: readonly T[]
  readonly gone: readonly ObjectRef[]
}

export interface MirrorFeedOptions<T extends KubernetesObject> {
  readonly cache: ObjectCache<T>
  /** Which objects are told of. */
  readonly concerns: (object: T) => boolean
  readonly tell: (news: MirrorNews<T>) => void
  readonly clock: Clock
}

const syncCheckMs = 100

/**
 * Tells another thread what a cache holds. Changes of one turn are told together, each object once and as it is then, so what
 * is on its way is never more than what there is.
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

  /** Everything there is, for somebody new. */
  whole(): MirrorNews<T> {
    const { cache, concerns } = this.#options
    return { synced: cache.synced, put: cache.list().filter(concerns), gone: [] }
  }

  close(): void {
    this.#closed = true
    this.#cancelCheck()
    this.#unsubscribe()
  }

  /** An empty cache changes nothing when it has synced. */
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

/** The same cache in the other thread. */
export class ObjectMirror<T extends KubernetesObject> implements ObjectCache<T> {
  readonly #objects = new Map<string, T>()
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>()
  #synced = false

  get synced(): boolean {
    return this.#synced
  }

  get(ref: ObjectRef): T | undefined {
    return this.#objects.get(keyOf(ref))
  }

  list(): readonly T[] {
    return [...this.#objects.values()]
  }

  onChange(listener: (change: ObjectChange<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  hear({ synced, put, gone }: MirrorNews<T>): void {
    for (const object of put) {
      const key = keyOf(refOf(object))
      const previous = this.#objects.get(key)
      this.#objects.set(key, object)
      this.#tell({ type: previous ? 'updated' : 'added', object, previous })
    }
    for (const ref of gone) {
      const object = this.#objects.get(keyOf(ref))
      if (object && this.#objects.delete(keyOf(ref))) this.#tell({ type: 'deleted', object })
    }
    this.#synced = synced
  }

  #tell(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) listener(change)
  }
}
