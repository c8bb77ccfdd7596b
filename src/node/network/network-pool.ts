import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'

export interface NetworkPoolOptions {
  /** The usable numbers: `first` to `end`, without `end`. */
  readonly first: number
  readonly end: number
  /** How many are kept ready. */
  readonly spares: number
  /** Makes the networks with these numbers; all, or none and throws. */
  make(numbers: readonly number[]): Promise<void>
  /** Removes whatever exists of them. */
  remove(numbers: readonly number[]): Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** Long enough for the wake that took a spare to be over: starting programs blocks this one for some milliseconds. */
const refillMs = 200
/** Making several at once takes little longer than one, but everybody who asks meanwhile waits for all of them. */
const mostAtOnce = 16

interface Waiter {
  resolve(number: number): void
  reject(error: Error): void
}

/**
 * Makes and removes Pod networks, which are identified by numbers. Some are made ahead; when more are needed, several
 * are made at once. A number is reused only after its old network is gone.
 */
export class NetworkPool {
  readonly #options: NetworkPoolOptions
  readonly #taken = new Set<number>()
  readonly #spare: number[] = []
  readonly #waiters: Waiter[] = []
  readonly #listeners = new Set<() => void>()
  #leaving: number[] = []
  #next: number
  #making: Promise<void> | undefined
  #removing: Promise<void> | undefined
  #cancelRefill: CancelTimer | undefined
  #closed = false

  constructor(options: NetworkPoolOptions) {
    this.#options = options
    const { first, end, clock } = options
    // Starts elsewhere than the last run, so that an address is not given to another Pod right after it was used.
    this.#next = first + (Math.floor(clock.now() / 1000) % (end - first))
  }

  /** Notes a network that exists and is in use. */
  hold(number: number): void {
    this.#taken.add(number)
  }

  /** Takes a network; throws if none can be made. */
  take(): Promise<number> {
    if (this.#closed) return Promise.reject(new Error('this node makes no more networks'))
    const spare = this.#spare.shift()
    this.#refillSoon()
    if (spare !== undefined) {
      if (this.#spare.length > 0) this.#tell()
      return Promise.resolve(spare)
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      this.#work(0)
    })
  }

  /** Returns an unused network, so that somebody else can have it. */
  giveBack(number: number): void {
    const waiter = this.#waiters.shift()
    if (waiter) return waiter.resolve(number)
    this.#spare.push(number)
    if (this.#spare.length === 1) this.#tell()
  }

  /** The network that is handed out next, if one is ready. */
  get next(): number | undefined {
    return this.#spare[0]
  }

  /** Calls the listener whenever `next` changes. */
  onNext(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes one now, to find out whether that works here. */
  async fill(): Promise<void> {
    const number = this.#propose()
    await this.#make([number])
  }

  /** Removes networks in the background. */
  remove(numbers: readonly number[]): void {
    this.#leaving.push(...numbers)
    this.#startRemoving()
  }

  /** Resolves when all removals are done. */
  async removed(): Promise<void> {
    while (this.#removing) await this.#removing
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelRefill?.()
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error('this node makes no more networks'))
    await this.#making
    this.remove(this.#spare.splice(0))
    await this.removed()
  }

  #propose(): number {
    const { first, end } = this.#options
    for (let tries = first; tries < end; tries += 1) {
      const number = this.#next
      this.#next = number + 1 < end ? number + 1 : first
      if (this.#taken.has(number)) continue
      this.#taken.add(number)
      return number
    }
    throw new Error('every address of this node is in use')
  }

  #refillSoon(): void {
    if (this.#closed) return
    this.#cancelRefill ??= this.#options.clock.after(refillMs, () => {
      this.#cancelRefill = undefined
      this.#work(this.#options.spares)
    })
  }

  /** Makes networks until nobody waits, and `spares` more. */
  #work(spares: number): void {
    if (this.#closed || this.#making || this.#waiters.length + spares <= this.#spare.length) return
    this.#making = this.#makeSome(spares).then((made) => {
      this.#making = undefined
      if (this.#waiters.length > 0) this.#work(0)
      // After a failure, the next one is made when somebody asks.
      else if (made && this.#spare.length < this.#options.spares) this.#refillSoon()
    })
  }

  async #makeSome(spares: number): Promise<boolean> {
    const count = Math.min(mostAtOnce, this.#waiters.length + spares - this.#spare.length)
    const asked = this.#waiters.slice(0, count)
    try {
      await this.#make(this.#proposeSome(count))
      return true
    } catch (error) {
      if (asked.length === 0) this.#options.log.warn({ err: error }, 'networks for Pods cannot be made ahead')
      for (const waiter of asked) {
        const index = this.#waiters.indexOf(waiter)
        if (index < 0) continue
        this.#waiters.splice(index, 1)
        waiter.reject(error instanceof Error ? error : new Error(errorMessage(error)))
      }
      return false
    }
  }

  /** Up to `count` free numbers; throws if there is none. */
  #proposeSome(count: number): number[] {
    const numbers = [this.#propose()]
    try {
      while (numbers.length < count) numbers.push(this.#propose())
    } catch {
      // Those who get none are told at their turn.
    }
    return numbers
  }

  async #make(numbers: readonly number[]): Promise<void> {
    try {
      await this.#options.make(numbers)
    } catch (error) {
      for (const number of numbers) this.#taken.delete(number)
      throw error
    }
    for (const number of numbers) this.giveBack(number)
  }

  #startRemoving(): void {
    if (this.#removing || this.#leaving.length === 0) return
    const numbers = this.#leaving
    this.#leaving = []
    this.#removing = this.#options.remove(numbers).then(() => {
      for (const number of numbers) this.#taken.delete(number)
      this.#removing = undefined
      this.#startRemoving()
    })
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
