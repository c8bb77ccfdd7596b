/** Tells the readers of a log, identified by its path, when there is more to read and when it is complete. */
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

  /** Calls `wake` on every append and at the end. Returns how to unsubscribe. */
  subscribe(path: string, wake: () => void): () => void {
    const listeners = this.#live.get(path)
    listeners?.add(wake)
    return () => listeners?.delete(wake)
  }

  /** Passes on raw output before it is split into lines. Listeners must copy it: the buffer is reused. */
  said(path: string, data: Buffer): void {
    this.#hearing.get(path)?.forEach((listen) => listen(data))
  }

  /** Calls `listen` with raw output as it comes. Returns how to unsubscribe. */
  hear(path: string, listen: (said: Buffer) => void): () => void {
    const listeners = this.#hearing.get(path) ?? new Set()
    this.#hearing.set(path, listeners.add(listen))
    return () => {
      listeners.delete(listen)
      if (listeners.size === 0 && this.#hearing.get(path) === listeners) this.#hearing.delete(path)
    }
  }
}
