import { abortReason } from '../../foundation/clock.ts'

interface Waiter {
  readonly order: number
  readonly start: () => void
}

/**
 * Makes generations compute in step. llama.cpp computes the tokens of all sequences of one batch together, and
 * neighbouring sequences in one go; left to themselves the sequences drift apart, a batch always misses the one that
 * was served last, and the gap splits it. Here a step begins when the one before has ended and everyone it served had
 * the time to come back.
 */
export class StepGate {
  #computing = 0
  #opening = false
  #waiting: Waiter[] = []

  /** Runs `compute` in the next step; within a step the lower `order` goes first. */
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
    // One turn of the event loop: whoever was served in the last step asks for the next one within it.
    setImmediate(() => {
      this.#opening = false
      if (this.#computing > 0) return
      const next = this.#waiting.toSorted((a, b) => a.order - b.order)
      this.#waiting = []
      for (const { start } of next) start()
    })
  }
}
