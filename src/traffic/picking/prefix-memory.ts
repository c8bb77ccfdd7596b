/** Blocks remembered for one model: some 8 MiB of prompts, which is what an engine's own cache holds. */
const mostBlocks = 16_384

/**
 * Which endpoints have seen which beginnings of prompts, the least recently used forgotten first. A block's hash stands
 * for everything before it too, so a beginning that is known ends at the first block that is not.
 */
export class PrefixMemory<E> {
  readonly #mostBlocks: number
  readonly #holders = new Map<number, Set<E>>()

  constructor(options: { readonly mostBlocks?: number } = {}) {
    this.#mostBlocks = options.mostBlocks ?? mostBlocks
  }

  get size(): number {
    return this.#holders.size
  }

  /** How many of the first blocks each endpoint knows; those that know none are not in it. */
  match(blocks: readonly number[], isThere: (endpoint: E) => boolean): ReadonlyMap<E, number> {
    const known = new Map<E, number>()
    for (const [index, block] of blocks.entries()) {
      const holders = this.#holders.get(block)
      if (!holders) break
      let anybody = false
      for (const endpoint of holders) {
        if (!isThere(endpoint)) {
          holders.delete(endpoint)
        } else if ((known.get(endpoint) ?? 0) === index) {
          known.set(endpoint, index + 1)
          anybody = true
        }
      }
      if (!anybody) break
    }
    return known
  }

  remember(blocks: readonly number[], endpoint: E): void {
    // The last block first: of a beginning, its end is forgotten first.
    for (let index = blocks.length - 1; index >= 0; index--) {
      const block = blocks[index] ?? 0
      const holders = this.#holders.get(block) ?? new Set<E>()
      holders.add(endpoint)
      this.#holders.delete(block)
      this.#holders.set(block, holders)
    }
    for (const block of this.#holders.keys()) {
      if (this.#holders.size <= this.#mostBlocks) return
      this.#holders.delete(block)
    }
  }
}
