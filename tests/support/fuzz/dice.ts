/** A small seeded random generator: the same seed makes the same decisions. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** In [0, 1). */
  roll(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return this.#state / 2 ** 32
  }

  /** From `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.roll() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.roll() < probability
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.roll() * from.length)]
  }

  /** One of the choices, with probabilities in proportion to the weights. */
  weighted<T>(choices: ReadonlyArray<readonly [weight: number, choice: T]>): T | undefined {
    let left = this.roll() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      left -= weight
      if (left < 0) return choice
    }
    return choices.at(-1)?.[1]
  }
}
