import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { Store } from '../../store/store.ts'

/** Many and small: only their number matters. */
const unweighed = new Set(['events'])

/** Counts what a store holds of one resource. A write costs the same however much that is. */
export class ObjectCounts {
  readonly #store: Store
  readonly #resource: string
  readonly #isWeighed: boolean
  #inAll = 0
  #bytes = 0
  readonly #namespaces = new Map<string, number>()
  /** By uid. */
  readonly #sizes = new Map<string, number>()

  constructor(store: Store, resource: string) {
    this.#store = store
    this.#resource = resource
    this.#isWeighed = !unweighed.has(resource)
    this.recount()
  }

  get inAll(): number {
    return this.#inAll
  }

  get bytes(): number {
    return this.#bytes
  }

  inNamespace(namespace: string): number {
    return this.#namespaces.get(namespace) ?? 0
  }

  add({ metadata }: KubernetesObject): void {
    this.#count(metadata.namespace ?? '', 1)
  }

  remove({ metadata }: KubernetesObject): void {
    this.#count(metadata.namespace ?? '', -1)
    this.#weigh(metadata.uid, 0)
  }

  /** Returns the size of the object. */
  written(object: KubernetesObject): number {
    const size = this.#store.jsonOf(object)?.length ?? sizeOf(object)
    if (this.#isWeighed) this.#weigh(object.metadata.uid, size)
    return size
  }

  /** Counts what is stored: something may have been written without being counted. */
  recount(): void {
    this.#inAll = 0
    this.#bytes = 0
    this.#namespaces.clear()
    this.#sizes.clear()
    for (const { object } of this.#store.list({ resource: this.#resource }).items) {
      this.add(object)
      if (this.#isWeighed) this.#weigh(object.metadata.uid, sizeOf(object))
    }
  }

  #count(namespace: string, change: number): void {
    this.#inAll = Math.max(0, this.#inAll + change)
    const count = this.inNamespace(namespace) + change
    if (count > 0) this.#namespaces.set(namespace, count)
    else this.#namespaces.delete(namespace)
  }

  #weigh(uid: string | undefined, size: number): void {
    if (uid === undefined) return
    this.#bytes += size - (this.#sizes.get(uid) ?? 0)
    if (size > 0) this.#sizes.set(uid, size)
    else this.#sizes.delete(uid)
  }
}

/** Roughly, in characters. */
export function sizeOf(object: KubernetesObject): number {
  return JSON.stringify(object).length
}
