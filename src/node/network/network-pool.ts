import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'

export interface NetworkPoolOptions {
  /** Numbers from the first up to, but without, the end. */
  readonly first: number
  readonly end: number
  /** How many wait for Pods. */
  readonly spares: number
  /** Makes the networks of these numbers: all of them, or none and throws. */
  make(numbers: readonly number[]): Promise<void>
  /** Takes away whatever there is of them. */
  remove(numbers: readonly number[]): Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** By then a wake that took a spare one is over: starting programs stops this one for some milliseconds. */
const refillMs = 200
/** Together they take little longer than one; but whoever asks meanwhile waits for all of them. */
const mostAtOnce = 16

interface Waiter {
  resolve(number: number): void
  reject(error: Error): void
}

/**
 * Networks by their numbers: some are made ahead, and when more are asked for than wait, many are made at a time. A
 * number is nobody's until what was there under it is gone.
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
    // Not where the last run began: an address that was somebody's a moment ago is not somebody else's at once.
    this.#next = first + (Math.floor(clock.now() / 1000) % (end - first))
  }

  /** Somebody has it, and it is there. */
  hold(number: number): void {
    this.#taken.add(number)
  }

  /** Throws where none can be made. */
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

  /** Nothing ran in it: it may be given to somebody else. */
  giveBack(number: number): void {
    const waiter = this.#waiters.shift()
    if (waiter) return waiter.resolve(number)
    this.#spare.push(number)
    if (this.#spare.length === 1) this.#tell()
  }

  /** The one that is given out next, once it is made. */
  get next(): number | undefined {
    return this.#spare[0]
  }

  /** Told each time that `next` has become another one. */
  onNext(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes one now, so that who cannot make any knows it. */
  async fill(): Promise<void> {
    const number = this.#propose()
    await this.#make([number])
  }

  /** Not waited for by whoever lets one go. */
  remove(numbers: readonly number[]): void {
    this.#leaving.push(...numbers)
    this.#startRemoving()
  }

  /** What was to be removed is gone. */
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

  /** Until nobody waits; `spares` are made besides. */
  #work(spares: number): void {
    if (this.#closed || this.#making || this.#waiters.length + spares <= this.#spare.length) return
    this.#making = this.#makeSome(spares).then((made) => {
      this.#making = undefined
      if (this.#waiters.length > 0) this.#work(0)
      // What could not be made is made when somebody asks for it.
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

  /** As many as there are of so many; one at least, or throws. */
  #proposeSome(count: number): number[] {
    const numbers = [this.#propose()]
    try {
      while (numbers.length < count) numbers.push(this.#propose())
    } catch {
      // Those who get none are told when it is their turn.
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
