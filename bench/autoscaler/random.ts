/** Pseudo-random numbers that repeat for the same seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 (included) to 1 (excluded). */
  uniform(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  exponential(mean: number): number {
    return -mean * Math.log(1 - this.uniform())
  }

  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform())
  }

  /** `spread` is the standard deviation of the logarithm. */
  logNormal(median: number, spread: number): number {
    return median * Math.exp(spread * this.normal())
  }

  /**
   * Gaps with this coefficient of variation: 1 is a Poisson process, larger values come in bursts (a two-phase
   * mixture).
   */
  gap(mean: number, variation: number): number {
    if (variation <= 1) return this.exponential(mean)
    const squared = variation * variation
    const share = 0.5 * (1 + Math.sqrt((squared - 1) / (squared + 1)))
    return this.uniform() < share ? this.exponential(mean / (2 * share)) : this.exponential(mean / (2 * (1 - share)))
  }
}
