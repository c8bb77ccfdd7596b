/** Tells readers of a log that there is more, and when there never will be. Keyed by the log's path. */
export class LogHub {
  readonly #live = new Map<string, Set<() => void>>()
  readonly #hearing = new Map<string, Set<(said: Buffer) => void>>()

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

  /** What a process said, before there are lines of it. Whoever hears it keeps none of the memory it is in. */
  said(path: string, data: Buffer): void {
    this.#hearing.get(path)?.forEach((listen) => listen(data))
  }

  /** Tells from now on what a process says, as it comes. Returns how to stop listening. */
  hear(path: string, listen: (said: Buffer) => void): () => void {
    const listeners = this.#hearing.get(path) ?? new Set()
    this.#hearing.set(path, listeners.add(listen))
    return () => {
      listeners.delete(listen)
      if (listeners.size === 0 && this.#hearing.get(path) === listeners) this.#hearing.delete(path)
    }
  }
}
