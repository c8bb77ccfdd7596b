import { downWindowMs, staleAfterMs } from './decide.ts'
import type { DemandReading, DemandSample } from './demand.ts'

/** Samples closer together than this are merged: a storm of first waiters must not grow the list. */
const finestMs = 250
/** The past before the window that needs every sample is kept in this many pieces. */
const pastPieces = 256
/** The list is thinned out when it has grown this long, not with every sample. */
const longest = 1_024

/**
 * The history of one model's demand: every sample of the last minute, and before that the peak of each piece of time,
 * placed at the piece's end. So the list stays short however long the idle window is, and what is lost can only make a
 * scale-down later, never earlier.
 */
export class DemandHistory {
  #samples: DemandSample[] = []

  get samples(): readonly DemandSample[] {
    return this.#samples
  }

  /** Data was missing, so what happened meanwhile is unknown and the history starts afresh. */
  forget(): void {
    this.#samples = []
  }

  /**
   * `lastActiveAt` accounts for requests that came and went since the previous sample: without it, a model with short
   * requests could seem idle.
   */
  record(at: number, reading: DemandReading, keepMs: number, lastActiveAt?: number): void {
    const newest = this.#samples.at(-1)
    // A gap, or a clock that was set: either way the time in between is unknown.
    if (newest !== undefined && (at < newest.at || at - newest.at > staleAfterMs)) this.forget()
    // A time in the future is from before the clock was set back.
    const passedBetween =
      lastActiveAt !== undefined && newest !== undefined && lastActiveAt > newest.at && lastActiveAt <= at
    const active = passedBetween && reading.active + reading.waiting === 0 ? 1 : reading.active
    this.#samples.push({ at, active, waiting: reading.waiting })
    this.#mergeNewest()
    if (this.#samples.length > longest) this.#thinOut(at, keepMs)
  }

  /** Samples within `finestMs` of each other become their peak; the newest always stays as it was read. */
  #mergeNewest(): void {
    const [third, second, first] = [this.#samples.at(-3), this.#samples.at(-2), this.#samples.at(-1)]
    if (third === undefined || second === undefined || first === undefined) return
    if (first.at - third.at < finestMs) this.#samples.splice(-3, 2, peakOf(third, second))
  }

  #thinOut(now: number, keepMs: number): void {
    const pieceMs = Math.max(1_000, keepMs / pastPieces)
    const kept: DemandSample[] = []
    for (const [index, sample] of this.#samples.entries()) {
      const previous = kept.at(-1)
      const next = this.#samples[index + 1]
      if (next !== undefined && next.at <= now - keepMs) continue
      const isPast = sample.at < now - downWindowMs
      // The first sample is never merged: it says since when the model is watched.
      if (isPast && kept.length > 1 && previous !== undefined && samePiece(previous.at, sample.at, pieceMs)) {
        kept[kept.length - 1] = peakOf(previous, sample)
      } else kept.push(sample)
    }
    this.#samples = kept
  }
}

function samePiece(earlier: number, later: number, pieceMs: number): boolean {
  return Math.floor(earlier / pieceMs) === Math.floor(later / pieceMs)
}

function peakOf(earlier: DemandSample, later: DemandSample): DemandSample {
  const peak = earlier.active + earlier.waiting > later.active + later.waiting ? earlier : later
  return { ...peak, at: later.at }
}
