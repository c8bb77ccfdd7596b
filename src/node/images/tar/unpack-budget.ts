import { ArchiveFault } from './archive-fault.ts'

/** How much an image may take, whatever its archive says. */
export interface UnpackLimits {
  /** Unpacked bytes of all layers; holes of sparse files count. */
  readonly bytes: number
  readonly entries: number
}

export const usualLimits: UnpackLimits = { bytes: 64 * 2 ** 30, entries: 2_000_000 }

/** What is left of the limits. Checked before something is written. */
export class UnpackBudget {
  readonly #limits: UnpackLimits
  #bytes = 0
  #entries = 0

  constructor(limits: UnpackLimits) {
    this.#limits = limits
  }

  /** Unpacked bytes so far. */
  get bytes(): number {
    return this.#bytes
  }

  takeBytes(count: number): void {
    this.#bytes += count
    if (this.#bytes > this.#limits.bytes) {
      throw new ArchiveFault(
        `it is larger than ${this.#limits.bytes} bytes when it is unpacked (--max-size allows more)`,
      )
    }
  }

  takeEntry(): void {
    this.#entries += 1
    if (this.#entries > this.#limits.entries) throw new ArchiveFault(`it has more than ${this.#limits.entries} entries`)
  }
}
