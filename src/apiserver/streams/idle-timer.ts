import type { CancelTimer, Clock } from '../../foundation/clock.ts'

/** Calls back once when it has not been touched for this long. */
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

  /** Cheap: the timer is only checked when it fires. */
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
