import type { Clock } from '../../foundation/clock.ts'

/** The phases of a wake, in order. */
export const wakePhases = ['placed', 'started', 'loaded', 'first_byte'] as const
export type WakePhase = (typeof wakePhases)[number]

/** Measures one model's wakes: each phase once per wake, from the first waiter on. */
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

  /** Phases may be skipped, if the Pod existed before. A phase that is reached again, or out of order, is ignored. */
  reached(phase: WakePhase): void {
    if (this.#begunAt === undefined) return
    const index = wakePhases.indexOf(phase)
    if (index < this.#next) return
    this.#next = index + 1
    this.#observe(phase, Math.max(0, this.#clock.now() - this.#begunAt))
    if (phase === 'first_byte') this.abandon()
  }

  /** Nobody waits any more, so this wake is not measured to its end. */
  abandon(): void {
    this.#begunAt = undefined
  }
}
