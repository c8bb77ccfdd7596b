import type { KubernetesObject } from './kubernetes-object.ts'
import { type ObjectRef, keyOf, refOf } from './object-ref.ts'

export interface ObjectChange<T> {
  readonly type: 'added' | 'updated' | 'deleted'
  readonly object: T
  readonly previous?: T | undefined
}

/** A read-only view of the objects of one kind. Objects are shared and must never be changed in place. */
export interface ObjectCache<T> {
  get(ref: ObjectRef): T | undefined
  list(): readonly T[]
  readonly synced: boolean
  /** Reports changes from now on, after they are in the cache; returns how to stop listening. */
  onChange(listener: (change: ObjectChange<T>) => void): () => void
}

/** Objects by name, with listeners for changes: the basis of every cache, however it is filled. */
export class HeldObjects<T extends KubernetesObject> implements ObjectCache<T> {
  /** Whether it contains everything that existed when filling began. */
  synced = false
  readonly #objects = new Map<string, T>()
  #listed: readonly T[] | undefined
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>()
  readonly #onFailure: ((error: unknown, change: ObjectChange<T>) => void) | undefined

  /** `onFailure` is called when a listener throws; the others still hear of the change. */
  constructor(onFailure?: (error: unknown, change: ObjectChange<T>) => void) {
    this.#onFailure = onFailure
  }

  get(ref: ObjectRef): T | undefined {
    return this.#objects.get(keyOf(ref))
  }

  /** The same list until something changes: who made something of it knows by that whether it still holds. */
  list(): readonly T[] {
    this.#listed ??= [...this.#objects.values()]
    return this.#listed
  }

  onChange(listener: (change: ObjectChange<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  put(object: T): void {
    const key = keyOf(refOf(object))
    const previous = this.#objects.get(key)
    this.#objects.set(key, object)
    this.#listed = undefined
    this.#tell(previous ? { type: 'updated', object, previous } : { type: 'added', object })
  }

  /** `last` is the object's final state, if it is known. */
  remove(ref: ObjectRef, last?: T): void {
    const key = keyOf(ref)
    const previous = this.#objects.get(key)
    if (!previous) return
    this.#objects.delete(key)
    this.#listed = undefined
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
