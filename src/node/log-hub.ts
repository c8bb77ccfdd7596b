/** Tells readers of a log that there is more, and when there never will be. Keyed by the log's path. */
export class LogHub {
  readonly #live = new Map<string, Set<() => void>>()

  open(path: string): void {
    if (!this.#live.has(path)) this.#live.set(path, new Set())
  }

  appended(path: string): void {
    this.#live.get(path)?.forEach((wake) => wake())
  }

  close(path: string): void {
    const listeners = this.#live.get(path)
    this.#live.delete(path)
    listeners?.forEach((wake) => wake())
  }

  isLive(path: string): boolean {
    return this.#live.has(path)
  }

  /** Wakes on every append and on the close. Returns how to stop listening. */
  subscribe(path: string, wake: () => void): () => void {
    const listeners = this.#live.get(path)
    listeners?.add(wake)
    return () => listeners?.delete(wake)
  }
}
