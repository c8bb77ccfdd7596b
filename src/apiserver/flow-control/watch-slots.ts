import { StatusError } from '../../resources/status-error.ts'

/**
 * Counts the open watches or other streams of each user, so that a client in a loop does not use up the server for
 * others.
 */
export class WatchSlots {
  readonly #limitPerUser: number
  readonly #what: string
  readonly #open = new Map<string, number>()

  constructor(limitPerUser: number, what = 'watches') {
    this.#limitPerUser = limitPerUser
    this.#what = what
  }

  get total(): number {
    let total = 0
    for (const count of this.#open.values()) total += count
    return total
  }

  /** Call the returned function once, when the watch is over. */
  take(user: string): () => void {
    const count = this.#open.get(user) ?? 0
    if (count >= this.#limitPerUser) {
      const message = `${user} already has ${count} ${this.#what} open; end some of them first`
      throw new StatusError('TooManyRequests', message, { retryAfterSeconds: 5 })
    }
    this.#open.set(user, count + 1)
    return () => {
      const left = (this.#open.get(user) ?? 1) - 1
      if (left > 0) this.#open.set(user, left)
      else this.#open.delete(user)
    }
  }
}
