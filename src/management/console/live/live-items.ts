/** What has changed since a revision. */
export interface ItemChanges {
  readonly revision: number
  /** Whether this is everything there is, and nothing else is. */
  readonly isWhole: boolean
  readonly changed: Readonly<Record<string, unknown>>
  readonly removed: readonly string[]
}

interface Item {
  readonly value: unknown
  readonly text: string
  readonly revision: number
}

/** How many removals are remembered. Who has missed more of them is told everything anew. */
const mostRemovals = 2_000

/**
 * Things to show, by their keys, each with the revision in which it last changed. Readers ask for what is newer than
 * what they have: nothing is queued for them, so a slow one only skips states in between.
 */
export class LiveItems {
  readonly #items = new Map<string, Item>()
  /** Oldest first. */
  readonly #removed = new Map<string, number>()
  #forgottenUpTo = 0
  #revision = 0

  get revision(): number {
    return this.#revision
  }

  /** Puts these in the place of all items with that prefix. Returns whether anything has changed. */
  replace(prefix: string, values: ReadonlyMap<string, unknown>): boolean {
    const before = this.#revision
    for (const [name, value] of values) this.#put(`${prefix}${name}`, value)
    for (const key of this.#items.keys()) {
      if (key.startsWith(prefix) && !values.has(key.slice(prefix.length))) this.#remove(key)
    }
    return this.#revision !== before
  }

  since(revision: number): ItemChanges {
    const isWhole = revision < this.#forgottenUpTo || revision === 0
    const newer = [...this.#items].filter(([, item]) => isWhole || item.revision > revision)
    const removed = isWhole ? [] : [...this.#removed].filter(([, at]) => at > revision).map(([key]) => key)
    return {
      revision: this.#revision,
      isWhole,
      changed: Object.fromEntries(newer.map(([key, { value }]) => [key, value])),
      removed,
    }
  }

  #put(key: string, value: unknown): void {
    const text = JSON.stringify(value)
    if (this.#items.get(key)?.text === text) return
    this.#revision += 1
    this.#items.set(key, { value, text, revision: this.#revision })
    this.#removed.delete(key)
  }

  #remove(key: string): void {
    this.#revision += 1
    this.#items.delete(key)
    this.#removed.delete(key)
    this.#removed.set(key, this.#revision)
    const [oldest] = this.#removed
    if (this.#removed.size <= mostRemovals || !oldest) return
    this.#removed.delete(oldest[0])
    this.#forgottenUpTo = oldest[1]
  }
}
