import type { CardUsage } from '../resources/usage-record.ts'

export interface CardUsageMeterOptions {
  /** The Models that could sleep or be awake, with the cards of a replica. */
  readonly models: () => Iterable<{ readonly model: string; readonly cards: number }>
  readonly tell: (cards: readonly CardUsage[]) => void
}

/** Models may be many, and which cards one needs is not found for nothing. */
const lookEverySeconds = 10

/**
 * Adds up the card-seconds that models held, and those that sleeping saved: what one replica that is always awake would
 * have held in addition.
 */
export class CardUsageMeter {
  readonly #options: CardUsageMeterOptions
  readonly #held = new Map<string, number>()
  #seconds = 0

  constructor(options: CardUsageMeterOptions) {
    this.#options = options
  }

  /** `held`: how many cards each model has held for this long. */
  step(seconds: number, held: ReadonlyMap<string, number>): void {
    this.#seconds += seconds
    for (const [model, cards] of held) this.#held.set(model, (this.#held.get(model) ?? 0) + cards * seconds)
    if (this.#seconds >= lookEverySeconds) this.#look()
  }

  /** Tells what was not told yet. */
  finish(): void {
    if (this.#seconds > 0) this.#look()
  }

  #look(): void {
    const told: CardUsage[] = []
    for (const { model, cards } of this.#options.models()) {
      const seconds = this.#held.get(model) ?? 0
      this.#held.delete(model)
      const savedSeconds = Math.max(0, cards * this.#seconds - seconds)
      if (seconds > 0 || savedSeconds > 0) told.push({ model, seconds, savedSeconds })
    }
    // A Model that was deleted meanwhile.
    for (const [model, seconds] of this.#held) told.push({ model, seconds, savedSeconds: 0 })
    this.#held.clear()
    this.#seconds = 0
    this.#options.tell(told)
  }
}
