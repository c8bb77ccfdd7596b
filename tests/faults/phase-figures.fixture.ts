/** How long everything took during one phase of a test, by what it was. */
export class PhaseFigures {
  readonly name: string
  readonly #taken = new Map<string, number[]>()
  /** The longest delay of the measuring process itself, which does not count against anybody else. */
  ownStallMs = 0

  constructor(name: string) {
    this.name = name
  }

  add(what: string, ms: number): void {
    const all = this.#taken.get(what)
    if (all) all.push(ms)
    else this.#taken.set(what, [ms])
  }

  count(what: string): number {
    return this.#taken.get(what)?.length ?? 0
  }

  p99(what: string): number {
    const sorted = (this.#taken.get(what) ?? []).toSorted((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0
  }

  worst(what: string): number {
    return (this.#taken.get(what) ?? []).reduce((most, ms) => Math.max(most, ms), 0)
  }

  /** A line for people to read. */
  toString(): string {
    const each = [...this.#taken.keys()].map((what) => {
      const [p99, worst] = [this.p99(what), this.worst(what)].map((ms) => ms.toFixed(0))
      return `${what} ${this.count(what)}, p99 ${p99}, worst ${worst}`
    })
    return `${this.name}: ${each.join('; ')}; own stall ${this.ownStallMs.toFixed(0)} (ms)`
  }
}
