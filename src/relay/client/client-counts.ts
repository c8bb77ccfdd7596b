/** Counts something by client; clients with none are not stored. */
export class ClientCounts {
  readonly #counts = new Map<string, number>()

  get(client: string): number {
    return this.#counts.get(client) ?? 0
  }

  add(client: string, count: number): void {
    const sum = this.get(client) + count
    if (sum === 0) this.#counts.delete(client)
    else this.#counts.set(client, sum)
  }

  get clients(): number {
    return this.#counts.size
  }
}
