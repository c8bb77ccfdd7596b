/** A map that forgets the least recently used entries. */
export class RecentMap<V> {
  readonly #most: number
  readonly #values = new Map<string, V>()

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#values.size
  }

  get(key: string): V | undefined {
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#most) return
    const [oldest] = this.#values.keys()
    if (oldest !== undefined) this.#values.delete(oldest)
  }

  /**
   * Forgets the least recently used entries that are over, at most two at a time: called whenever something is added,
   * it keeps up and never takes long.
   */
  forgetOldest(isOver: (value: V) => boolean): void {
    for (let times = 0; times < 2; times += 1) {
      const [oldest] = this.#values
      if (!oldest || !isOver(oldest[1])) return
      this.#values.delete(oldest[0])
    }
  }

  delete(key: string): void {
    this.#values.delete(key)
  }
}
