import { RecentMap } from './recent-map.ts'

/**
 * No controller has a hundred reasons in ten seconds to look at the same object. But two controllers that write against
 * each other, or one that is woken by its own writes, have as many as the machine allows. Beyond that the pace is 100
 * ms, doubled for every ten seconds that it goes on, up to two seconds: an object that really is that busy (a Service
 * with thousands of Pods) must not fall far behind.
 */
const limits = { runs: 100, windowMs: 10_000, firstMs: 100, longestMs: 2_000 }
const mostKeys = 4_096
/** A key that was not reconciled for this long starts afresh, however hot it was. */
const longestHeatMs = limits.windowMs + limits.longestMs

interface Heat {
  windowStart: number
  runs: number
  /** For how many windows in a row it was too often. */
  level: number
  lastAt: number
}

export interface Admission {
  /** 0: it may run now, and counts as run. */
  readonly waitMs: number
  /** True when it is held back now and was not before. */
  readonly begins: boolean
}

const free: Admission = { waitMs: 0, begins: false }

/** Slows down keys that are reconciled again and again although nothing fails. Time is an argument. */
export class HotLoopBrake {
  readonly #heats = new RecentMap<Heat>(mostKeys)

  get size(): number {
    return this.#heats.size
  }

  /** To be asked right before a key is reconciled. */
  admit(key: string, now: number): Admission {
    const heat = this.#heats.get(key)
    // After the clock was set back, the key starts afresh.
    if (!heat || now < heat.lastAt || now - heat.lastAt >= limits.windowMs + pauseMs(heat.level)) {
      this.#heats.set(key, { windowStart: now, runs: 1, level: 0, lastAt: now })
      this.#heats.forgetOldest(({ lastAt }) => now - lastAt >= longestHeatMs)
      return free
    }
    if (now - heat.windowStart >= limits.windowMs) openWindow(heat, now)
    const begins = heat.level === 0 && heat.runs >= limits.runs
    if (begins) heat.level = 1
    const waitMs = heat.level === 0 ? 0 : heat.lastAt + pauseMs(heat.level) - now
    if (waitMs > 0) return { waitMs, begins }
    heat.runs += 1
    heat.lastAt = now
    return { waitMs: 0, begins }
  }
}

/** A key that used at least half of what the pace allows is still too hot. */
function openWindow(heat: Heat, now: number): void {
  if (heat.level > 0) {
    const stillHot = heat.runs * pauseMs(heat.level) >= limits.windowMs / 2
    heat.level += stillHot ? 1 : -1
  }
  heat.windowStart = now
  heat.runs = 0
}

function pauseMs(level: number): number {
  return level === 0 ? 0 : Math.min(limits.longestMs, limits.firstMs * 2 ** Math.min(level - 1, 16))
}
