import type { ObjectCache, ObjectChange } from '../cluster/informer.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { keyOf, type ObjectRef, refOf } from '../resources/object-ref.ts'
import type { MirrorNews } from './mirror-feed.ts'

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
