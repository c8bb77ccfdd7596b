/**
 * The work that may still be done for one object. A schema is small and an object is small, but the work can be their
 * product: alternatives of alternatives, over every item of a list.
 */
export class Work {
  #left: number

  constructor(most: number) {
    this.#left = most
  }

  get isOver(): boolean {
    return this.#left < 0
  }

  /** `false`: none is left. */
  take(steps: number): boolean {
    this.#left -= steps
    return this.#left >= 0
  }
}
