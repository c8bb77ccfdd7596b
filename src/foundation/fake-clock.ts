import { type CancelTimer, type Clock, sleepWith } from './clock.ts'

interface PendingTimer {
  readonly dueAt: number
  readonly order: number
  readonly callback: () => void
}

/** A Clock that moves only when a test advances it. */
export class FakeClock implements Clock {
  #now: number
  #order = 0
  readonly #timers = new Set<PendingTimer>()

  constructor(startAt = Date.UTC(2030, 0, 1)) {
    this.#now = startAt
  }

  now(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): CancelTimer {
    const timer = { dueAt: this.#now + Math.max(0, ms), order: this.#order++, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  /** Moves time forward. Timers fire in order, and promises settle after each. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms
    for (;;) {
      await settle()
      const next = this.#nextDue(target)
      if (!next) break
      this.#timers.delete(next)
      this.#now = next.dueAt
      next.callback()
    }
    this.#now = target
    await settle()
  }

  /** Moves time forward for a loop that was stuck meanwhile: all that is due comes at once, before any input. */
  jump(ms: number): void {
    this.#now += ms
    for (let next = this.#nextDue(this.#now); next; next = this.#nextDue(this.#now)) {
      this.#timers.delete(next)
      next.callback()
    }
  }

  get pendingTimers(): number {
    return this.#timers.size
  }

  #nextDue(target: number): PendingTimer | undefined {
    let next: PendingTimer | undefined
    for (const timer of this.#timers) {
      if (timer.dueAt > target) continue
      if (!next || timer.dueAt < next.dueAt || (timer.dueAt === next.dueAt && timer.order < next.order)) next = timer
    }
    return next
  }
}

/** Lets microtasks and queued I/O callbacks run. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
