/**
 * Divides a bounded amount of something among flows. A flow may hold as much as it leaves free: alone it gets half of
 * everything, and whoever comes later always finds some. Nothing is reserved for flows that are not there.
 */
export class FairShares {
  readonly #held = new Map<string, number>()
  #free: number

  constructor(total: number) {
    this.#free = total
  }

  get free(): number {
    return this.#free
  }

  heldBy(flow: string): number {
    return this.#held.get(flow) ?? 0
  }

  /** A flow that holds nothing yet gets whatever is free. */
  fits(flow: string, amount = 1): boolean {
    const held = this.heldBy(flow)
    const left = this.#free - amount
    return left >= 0 && (held === 0 || held + amount <= left)
  }

  /** `false`: there is not enough now. */
  take(flow: string, amount = 1): boolean {
    if (!this.fits(flow, amount)) return false
    this.#held.set(flow, this.heldBy(flow) + amount)
    this.#free -= amount
    return true
  }

  giveBack(flow: string, amount = 1): void {
    const left = this.heldBy(flow) - amount
    if (left > 0) this.#held.set(flow, left)
    else this.#held.delete(flow)
    this.#free += amount
  }
}
