import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { ContainerShell } from './container-shell.ts'

/** By then a wake that took the spare one is over: making another stops this program for some milliseconds. */
const refillMs = 200

/**
 * Keeps one shell waiting, in namespaces of its own where there are any. Making them takes longer than everything else about the
 * start of a container; one that somebody waits for does not wait for that.
 */
export class SpareShell {
  readonly #clock: Clock
  readonly #start: () => ContainerShell
  #spare: ContainerShell | undefined
  #cancelRefill: CancelTimer | undefined
  #closed = false

  constructor(clock: Clock, start: () => ContainerShell) {
    this.#clock = clock
    this.#start = start
  }

  /** The spare one, or a new one where there is none. Another is made later. */
  take(): ContainerShell {
    const spare = this.#spare
    this.#spare = undefined
    this.refillSoon()
    if (!spare?.isWaiting) return this.#start()
    spare.ref()
    return spare
  }

  refillSoon(): void {
    if (this.#closed) return
    this.#cancelRefill ??= this.#clock.after(refillMs, () => {
      this.#cancelRefill = undefined
      if (this.#spare?.isWaiting) return
      this.#spare = this.#start()
      this.#spare.unref()
    })
  }

  close(): void {
    this.#closed = true
    this.#cancelRefill?.()
    this.#spare?.discard()
    this.#spare = undefined
  }
}
