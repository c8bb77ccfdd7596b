/** Tells when the next look at a Model has ended, whatever came of it. */
export class NextLook {
  readonly #awaited = new Map<string, PromiseWithResolvers<void>>()

  /** Of a look that has not begun yet. */
  of(key: string): Promise<void> {
    const known = this.#awaited.get(key) ?? Promise.withResolvers<void>()
    this.#awaited.set(key, known)
    return known.promise
  }

  async during<T>(key: string, look: () => Promise<T>): Promise<T> {
    const awaited = this.#awaited.get(key)
    this.#awaited.delete(key)
    try {
      return await look()
    } finally {
      awaited?.resolve()
    }
  }

  /** There will be no further look. */
  end(): void {
    for (const { resolve } of this.#awaited.values()) resolve()
    this.#awaited.clear()
  }
}
