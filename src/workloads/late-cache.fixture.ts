import type { ObjectCache, ObjectChange } from '../cluster/informer.ts'
import type { Pod } from '../resources/pod.ts'

/** A cache that is behind until the test says otherwise. */
export class LateCache implements ObjectCache<Pod> {
  readonly synced = true
  readonly #cache: ObjectCache<Pod>
  readonly #listeners: Array<(change: ObjectChange<Pod>) => void> = []
  readonly #held: ObjectChange<Pod>[] = []
  late = true

  constructor(cache: ObjectCache<Pod>) {
    this.#cache = cache
    cache.onChange((change) => (this.late ? void this.#held.push(change) : this.#tell(change)))
  }

  get heldBack(): number {
    return this.#held.length
  }

  catchUp(): void {
    this.late = false
    for (const change of this.#held.splice(0)) this.#tell(change)
  }

  get(ref: Parameters<ObjectCache<Pod>['get']>[0]): Pod | undefined {
    return this.late ? undefined : this.#cache.get(ref)
  }

  list(): readonly Pod[] {
    return this.late ? [] : this.#cache.list()
  }

  onChange(listener: (change: ObjectChange<Pod>) => void): () => void {
    this.#listeners.push(listener)
    return () => {}
  }

  #tell(change: ObjectChange<Pod>): void {
    for (const listener of this.#listeners) listener(change)
  }
}
