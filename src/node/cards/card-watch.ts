import type { Clock } from '../../foundation/clock.ts'
import type { Card } from './card.ts'
import type { NvidiaReading } from './nvidia-cards.ts'

export interface CardWatchOptions {
  readonly cards: readonly Card[]
  readonly clock: Clock
  readonly read: (signal: AbortSignal) => Promise<NvidiaReading>
  /** Called with the cards that do not answer, and why, whenever that set has changed. */
  readonly onLost: (indices: ReadonlySet<number>, problems: readonly string[]) => void
}

const periodMs = 30_000

/** Checks periodically that the real cards still answer. Simulated cards cannot be lost. */
export async function watchCards(options: CardWatchOptions, signal: AbortSignal): Promise<void> {
  const { cards, clock, read, onLost } = options
  const real = cards.filter(({ simulated }) => !simulated)
  if (real.length === 0) return
  let before = ''
  while (!signal.aborted) {
    await clock.sleep(periodMs, signal).catch(() => {})
    if (signal.aborted) return
    const reading = await read(signal)
    if (signal.aborted) return
    const lost = lostCards(real, reading.cards)
    const now = [...lost].join()
    if (now !== before) onLost(lost, reading.problems)
    before = now
  }
}

/** Indices of cards that the driver no longer lists, or now lists for a different card. */
export function lostCards(known: readonly Card[], listed: readonly Card[]): Set<number> {
  const there = new Map(listed.map((card) => [card.index, card.uuid]))
  return new Set(known.filter(({ index, uuid }) => there.get(index) !== uuid).map(({ index }) => index))
}
