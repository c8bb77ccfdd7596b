import type { KubernetesObject } from './kubernetes-object.ts'
import { type ObjectRef, keyOf, refOf } from './object-ref.ts'

export interface ObjectChange<T> {
  readonly type: 'added' | 'updated' | 'deleted'
  readonly object: T
  readonly previous?: T | undefined
}

/** What a consumer needs to know of the objects of one kind. Objects are shared: never change them in place. */
export interface ObjectCache<T> {
  get(ref: ObjectRef): T | undefined
  list(): readonly T[]
  readonly synced: boolean
  /** Tells of changes from now on, after the cache has them; returns how to stop listening. */
  onChange(listener: (change: ObjectChange<T>) => void): () => void
}

/** Objects by their names, and who hears of changes: what every cache is made of, however it is filled. */
export class HeldObjects<T extends KubernetesObject> implements ObjectCache<T> {
  /** Whether everything is in it that there was when it began to be filled. */
  synced = false
  readonly #objects = new Map<string, T>()
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>()
  readonly #onFailure: ((error: unknown, change: ObjectChange<T>) => void) | undefined

  /** `onFailure` is told of a listener that throws, and the others hear of the change all the same. */
  constructor(onFailure?: (error: unknown, change: ObjectChange<T>) => void) {
    this.#onFailure = onFailure
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

  put(object: T): void {
    const key = keyOf(refOf(object))
    const previous = this.#objects.get(key)
    this.#objects.set(key, object)
    this.#tell(previous ? { type: 'updated', object, previous } : { type: 'added', object })
  }

  /** `last` is the object as it was at its end, where that is known. */
  remove(ref: ObjectRef, last?: T): void {
    const key = keyOf(ref)
    const previous = this.#objects.get(key)
    if (!previous) return
    this.#objects.delete(key)
    this.#tell({ type: 'deleted', object: last ?? previous, previous })
  }

  #tell(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (error) {
        if (!this.#onFailure) throw error
        this.#onFailure(error, change)
      }
    }
  }
}
