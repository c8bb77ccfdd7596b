import { ResourceRows } from './resource-rows.ts'
import { SharedFields } from './shared-fields.ts'
import type { StoreKey, StoreSelector, StoredObject } from '../store.ts'

const mostLists = 64

/** The current objects, by name and in order. */
export class ObjectTable {
  readonly #resources = new Map<string, ResourceRows>()
  readonly #shared = new SharedFields()
  /** Lists since the last write to their resource, by resource and namespace: listing again returns the same array. */
  readonly #lists = new Map<string, Map<string | undefined, readonly StoredObject[]>>()

  get({ resource, namespace, name }: StoreKey): StoredObject | undefined {
    return this.#resources.get(resource)?.get(namespace, name)
  }

  put(stored: StoredObject): void {
    this.#shared.share(stored.object)
    const { resource } = stored.key
    this.#lists.delete(resource)
    let rows = this.#resources.get(resource)
    if (!rows) this.#resources.set(resource, (rows = new ResourceRows()))
    rows.put(stored)
  }

  remove({ resource, namespace, name }: StoreKey): void {
    this.#lists.delete(resource)
    this.#resources.get(resource)?.remove(namespace, name)
  }

  list({ resource, namespace }: StoreSelector): readonly StoredObject[] {
    let lists = this.#lists.get(resource)
    const known = lists?.get(namespace)
    if (known) return known
    const list = this.#resources.get(resource)?.list(namespace) ?? []
    if (!lists) this.#lists.set(resource, (lists = new Map()))
    if (lists.size >= mostLists) lists.clear()
    lists.set(namespace, list)
    return list
  }
}
