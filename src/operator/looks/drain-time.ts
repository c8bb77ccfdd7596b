interface Looks {
  lookedAt: number
  elapsedMs: number
}

/** Longer than the pause between two looks; anything beyond it is a jump of the clock, not passed time. */
const longestStepMs = 5_000
const forgottenAfterMs = 60_000
const mostPods = 10_000

/**
 * How long drains have lasted, added up from look to look: a clock that is set forward must not cut the requests that a
 * Pod still serves, and one that is set back must not keep it for ever. Starts afresh after a restart.
 */
export class DrainTime {
  readonly #looks = new Map<string, Looks>()

  /** `drain` is a name that no other drain has. */
  elapsedMs(drain: string, now: number): number {
    const looks = this.#looks.get(drain)
    if (looks) {
      looks.elapsedMs += Math.min(Math.max(0, now - looks.lookedAt), longestStepMs)
      looks.lookedAt = now
      return looks.elapsedMs
    }
    if (this.#looks.size >= mostPods) this.#forgetOld(now)
    this.#looks.set(drain, { lookedAt: now, elapsedMs: 0 })
    return 0
  }

  #forgetOld(now: number): void {
    for (const [drain, { lookedAt }] of this.#looks) {
      if (Math.abs(now - lookedAt) > forgottenAfterMs) this.#looks.delete(drain)
    }
  }
}
