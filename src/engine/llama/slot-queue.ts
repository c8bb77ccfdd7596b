import { abortReason } from '../../foundation/clock.ts'

interface Waiter<Slot> {
  readonly choose: (idle: readonly Slot[]) => Slot | undefined
  readonly accept: (slot: Slot) => void
}

/** A fixed number of slots with a bounded queue: first come, first served. */
export class SlotQueue<Slot> {
  readonly #idle: Set<Slot>
  readonly #total: number
  readonly #waiting = new Set<Waiter<Slot>>()
  readonly #waitingLimit: number
  readonly #refuse: (waiting: number) => Error

  constructor(slots: readonly Slot[], waitingLimit: number, refuse: (waiting: number) => Error) {
    this.#idle = new Set(slots)
    this.#total = slots.length
    this.#waitingLimit = waitingLimit
    this.#refuse = refuse
  }

  get running(): number {
    return this.#total - this.#idle.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** When it is this caller's turn, takes the slot that `choose` picks among the idle ones. */
  acquire(choose: Waiter<Slot>['choose'], signal: AbortSignal): Promise<Slot> {
    if (signal.aborted) return Promise.reject(abortReason(signal))
    const free = this.#waiting.size === 0 ? this.#take(choose) : undefined
    if (free) return Promise.resolve(free)
    if (this.#waiting.size >= this.#waitingLimit) return Promise.reject(this.#refuse(this.#waiting.size))
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(waiter)
        reject(abortReason(signal))
      }
      const accept = (slot: Slot) => {
        signal.removeEventListener('abort', onAbort)
        resolve(slot)
      }
      const waiter = { choose, accept }
      this.#waiting.add(waiter)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  release(slot: Slot): void {
    this.#idle.add(slot)
    const [next] = this.#waiting
    const chosen = next && this.#take(next.choose)
    if (!next || !chosen) return
    this.#waiting.delete(next)
    next.accept(chosen)
  }

  #take(choose: Waiter<Slot>['choose']): Slot | undefined {
    if (this.#idle.size === 0) return undefined
    const idle = [...this.#idle]
    const slot = choose(idle) ?? idle[0]
    if (slot !== undefined) this.#idle.delete(slot)
    return slot
  }
}
