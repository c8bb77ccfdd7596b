import type { CancelTimer, Clock } from '../../foundation/clock.ts'

/** Tells once when nothing was touched for so long. */
export class IdleTimer {
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #expired: () => void
  #touchedAt: number
  #cancel: CancelTimer = () => {}

  constructor(clock: Clock, idleMs: number, expired: () => void) {
    this.#clock = clock
    this.#idleMs = idleMs
    this.#expired = expired
    this.#touchedAt = clock.now()
    this.#wait(idleMs)
  }

  /** Cheap: the timer itself is only looked at when it rings. */
  touch(): void {
    this.#touchedAt = this.#clock.now()
  }

  stop(): void {
    this.#cancel()
  }

  #wait(ms: number): void {
    this.#cancel = this.#clock.after(ms, () => {
      const left = this.#touchedAt + this.#idleMs - this.#clock.now()
      if (left > 0) this.#wait(left)
      else this.#expired()
    })
  }
}
