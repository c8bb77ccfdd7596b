import type { StoredObject } from '../store.ts'

interface Row {
  stored: StoredObject
  isGone: boolean
}

/** With fewer deleted rows, tidying up can wait until somebody lists. */
const fewGone = 64

/**
 * The objects of one resource. A write finds its row by name, however many rows there are; the order is determined when
 * somebody lists, from the previous order and what came since.
 */
export class ResourceRows {
  readonly #namespaces = new Map<string, Map<string, Row>>()
  /** By namespace and name; some may be deleted. */
  #ordered: Row[] = []
  /** In the order they came; not yet among the ordered. */
  #added: Row[] = []
  #gone = 0

  get(namespace: string, name: string): StoredObject | undefined {
    return this.#namespaces.get(namespace)?.get(name)?.stored
  }

  put(stored: StoredObject): void {
    const { namespace, name } = stored.key
    let rows = this.#namespaces.get(namespace)
    if (!rows) this.#namespaces.set(namespace, (rows = new Map()))
    const known = rows.get(name)
    if (known) {
      known.stored = stored
      return
    }
    const row = { stored, isGone: false }
    rows.set(name, row)
    this.#added.push(row)
  }

  remove(namespace: string, name: string): void {
    const rows = this.#namespaces.get(namespace)
    const row = rows?.get(name)
    if (!rows || !row) return
    row.isGone = true
    rows.delete(name)
    if (rows.size === 0) this.#namespaces.delete(namespace)
    this.#gone += 1
    if (this.#gone > fewGone && this.#gone > (this.#ordered.length + this.#added.length) / 2) this.#tidy()
  }

  list(namespace: string | undefined): readonly StoredObject[] {
    if (this.#added.length > 0 || this.#gone > 0) this.#tidy()
    if (namespace === undefined) return this.#ordered.map(({ stored }) => stored)
    const list: StoredObject[] = []
    for (let index = this.#start(namespace); index < this.#ordered.length; index += 1) {
      const row = this.#ordered[index]
      if (row?.stored.key.namespace !== namespace) break
      list.push(row.stored)
    }
    return list
  }

  /** Where the rows of a namespace begin, or would begin. */
  #start(namespace: string): number {
    let low = 0
    let high = this.#ordered.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const row = this.#ordered[middle]
      if (row && row.stored.key.namespace < namespace) low = middle + 1
      else high = middle
    }
    return low
  }

  #tidy(): void {
    const added = this.#added.filter(({ isGone }) => !isGone).sort(inOrder)
    const merged: Row[] = []
    let next = 0
    for (const row of this.#ordered) {
      if (row.isGone) continue
      for (let other = added[next]; other && inOrder(other, row) < 0; other = added[next]) {
        merged.push(other)
        next += 1
      }
      merged.push(row)
    }
    this.#ordered = merged.concat(added.slice(next))
    this.#added = []
    this.#gone = 0
  }
}

function inOrder({ stored: { key: one } }: Row, { stored: { key: other } }: Row): number {
  if (one.namespace !== other.namespace) return one.namespace < other.namespace ? -1 : 1
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0
}
