import { abortReason } from '../../foundation/clock.ts'

interface Waiter {
  readonly order: number
  readonly start: () => void
}

/**
 * Makes generations compute in step. llama.cpp computes the tokens of all sequences in a batch together, and those of
 * neighbouring sequences in one go. Left to themselves, the sequences drift apart: each batch misses the sequence that
 * was served last, and the gap splits the batch. With this gate, a step begins when the previous one has ended and
 * everyone it served has had time to ask for the next.
 */
export class StepGate {
  #computing = 0
  #opening = false
  #waiting: Waiter[] = []

  /** Runs `compute` in the next step; within a step, the lowest `order` goes first. */
  async run<T>(order: number, signal: AbortSignal, compute: () => Promise<T>): Promise<T> {
    await this.#turn(order, signal)
    try {
      return await compute()
    } finally {
      this.#computing -= 1
      if (this.#computing === 0) this.#open()
    }
  }

  #turn(order: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(abortReason(signal))
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter)
        reject(abortReason(signal))
      }
      const waiter = {
        order,
        start: () => {
          signal.removeEventListener('abort', onAbort)
          this.#computing += 1
          resolve()
        },
      }
      this.#waiting.push(waiter)
      signal.addEventListener('abort', onAbort, { once: true })
      if (this.#computing === 0) this.#open()
    })
  }

  #open(): void {
    if (this.#opening) return
    this.#opening = true
    // Wait one turn of the event loop: whoever was served in the last step asks for the next one during it.
    setImmediate(() => {
      this.#opening = false
      if (this.#computing > 0) return
      const next = this.#waiting.toSorted((a, b) => a.order - b.order)
      this.#waiting = []
      for (const { start } of next) start()
    })
  }
}
