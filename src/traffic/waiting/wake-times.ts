import type { Clock } from '../../foundation/clock.ts'

/** What a wake goes through, in this order. */
export const wakePhases = ['placed', 'started', 'loaded', 'first_byte'] as const
export type WakePhase = (typeof wakePhases)[number]

/** How long one model's wakes take: each phase is measured once per wake, from its first waiter. */
export class WakeTimes {
  readonly #clock: Clock
  readonly #observe: (phase: WakePhase, ms: number) => void
  #begunAt: number | undefined
  #next = 0

  constructor(clock: Clock, observe: (phase: WakePhase, ms: number) => void) {
    this.#clock = clock
    this.#observe = observe
  }

  begin(): void {
    if (this.#begunAt !== undefined) return
    this.#begunAt = this.#clock.now()
    this.#next = 0
  }

  /** A Pod that was there before skips phases; what comes again, or later than the next one, is not measured. */
  reached(phase: WakePhase): void {
    if (this.#begunAt === undefined) return
    const index = wakePhases.indexOf(phase)
    if (index < this.#next) return
    this.#next = index + 1
    this.#observe(phase, Math.max(0, this.#clock.now() - this.#begunAt))
    if (phase === 'first_byte') this.abandon()
  }

  /** Nobody is left for whom it would end. */
  abandon(): void {
    this.#begunAt = undefined
  }
}
