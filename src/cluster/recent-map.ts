/** A map that forgets what was used the longest time ago. */
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

  delete(key: string): void {
    this.#values.delete(key)
  }
}
