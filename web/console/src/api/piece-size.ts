const least = 64 * 1024
const most = 16 * 1024 * 1024
const quickMs = 500
const slowMs = 3_000

/**
 * How much is sent at once: as much as takes about a second. The server waits 15 seconds for a request, whatever the
 * line; and what is sent at once shows as one step of the bar.
 */
export class PieceSize {
  #bytes = 256 * 1024

  get bytes(): number {
    return this.#bytes
  }

  took(ms: number): void {
    if (ms < quickMs) this.#bytes = Math.min(most, this.#bytes * 2)
    else if (ms > slowMs) this.#bytes = Math.max(least, this.#bytes / 2)
  }

  failed(): void {
    this.#bytes = Math.max(least, this.#bytes / 4)
  }
}
