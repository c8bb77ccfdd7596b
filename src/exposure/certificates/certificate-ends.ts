import type { CancelTimer, Clock } from '../../foundation/clock.ts'

/** A timer of the system can be set to 24 days at most; one that wakes early is set again. */
const longestWaitMs = 24 * 3_600_000

/** Notices when the certificates of hosts expire, with one timer for all of them. */
export class CertificateEnds {
  readonly #clock: Clock
  readonly #onEnd: (hosts: readonly string[]) => void
  readonly #ends = new Map<string, number>()
  /** When the timer wakes. */
  #nextAt = Number.POSITIVE_INFINITY
  #cancel: CancelTimer = () => {}

  constructor(clock: Clock, onEnd: (hosts: readonly string[]) => void) {
    this.#clock = clock
    this.#onEnd = onEnd
  }

  /** `end`: until when the host's certificate is valid; `undefined` if there is nothing to notice. */
  set(host: string, end: number | undefined): void {
    if (end === undefined) {
      this.#ends.delete(host)
      return
    }
    this.#ends.set(host, end)
    if (end < this.#nextAt) this.#wakeAt(end)
  }

  clear(): void {
    this.#cancel()
    this.#nextAt = Number.POSITIVE_INFINITY
    this.#ends.clear()
  }

  #wakeAt(end: number): void {
    this.#cancel()
    const now = this.#clock.now()
    this.#nextAt = Math.min(end, now + longestWaitMs)
    this.#cancel = this.#clock.after(Math.max(0, this.#nextAt - now), () => this.#wake())
  }

  #wake(): void {
    const now = this.#clock.now()
    const ended = [...this.#ends].flatMap(([host, end]) => (end <= now ? [host] : []))
    for (const host of ended) this.#ends.delete(host)
    this.#nextAt = Number.POSITIVE_INFINITY
    let next = Number.POSITIVE_INFINITY
    for (const end of this.#ends.values()) next = Math.min(next, end)
    if (next < Number.POSITIVE_INFINITY) this.#wakeAt(next)
    if (ended.length > 0) this.#onEnd(ended)
  }
}
