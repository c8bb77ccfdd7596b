import { SharedFields } from './shared-fields.ts'
import type { StoreKey, StoreSelector, StoredObject } from './store.ts'

const mostLists = 64

/** The current objects, kept in the order that lists show them. */
export class ObjectTable {
  readonly #resources = new Map<string, StoredObject[]>()
  readonly #shared = new SharedFields()
  /** Lists since the last write to their resource, by resource and namespace: who lists again gets the same array. */
  readonly #lists = new Map<string, Map<string | undefined, readonly StoredObject[]>>()

  get(key: StoreKey): StoredObject | undefined {
    const rows = this.#resources.get(key.resource)
    if (!rows) return undefined
    const { index, found } = position(rows, key.namespace, key.name)
    return found ? rows[index] : undefined
  }

  put(stored: StoredObject): void {
    this.#shared.share(stored.object)
    const { resource, namespace, name } = stored.key
    this.#lists.delete(resource)
    let rows = this.#resources.get(resource)
    if (!rows) this.#resources.set(resource, (rows = []))
    const { index, found } = position(rows, namespace, name)
    rows.splice(index, found ? 1 : 0, stored)
  }

  remove(key: StoreKey): void {
    const rows = this.#resources.get(key.resource)
    if (!rows) return
    this.#lists.delete(key.resource)
    const { index, found } = position(rows, key.namespace, key.name)
    if (found) rows.splice(index, 1)
  }

  list({ resource, namespace }: StoreSelector): readonly StoredObject[] {
    let lists = this.#lists.get(resource)
    const known = lists?.get(namespace)
    if (known) return known
    const list = this.#listed(resource, namespace)
    if (!lists) this.#lists.set(resource, (lists = new Map()))
    if (lists.size >= mostLists) lists.clear()
    lists.set(namespace, list)
    return list
  }

  #listed(resource: string, namespace: string | undefined): readonly StoredObject[] {
    const rows = this.#resources.get(resource) ?? []
    if (namespace === undefined) return rows.slice()
    const start = position(rows, namespace, '').index
    let end = start
    while (rows[end]?.key.namespace === namespace) end += 1
    return rows.slice(start, end)
  }
}

/** Where the row is, or where it would have to go. */
function position(
  rows: readonly StoredObject[],
  namespace: string,
  name: string,
): { readonly index: number; readonly found: boolean } {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const key = rows[middle]?.key
    if (!key) break
    if (key.namespace === namespace && key.name === name) return { index: middle, found: true }
    const before = key.namespace === namespace ? key.name < name : key.namespace < namespace
    if (before) low = middle + 1
    else high = middle
  }
  return { index: low, found: false }
}
