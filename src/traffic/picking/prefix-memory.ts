/** Most blocks remembered for one model: some 8 MiB of prompts, about what an engine caches itself. */
const mostBlocks = 16_384

/**
 * Remembers which endpoints have seen which beginnings of prompts, forgetting the least recently used first. A block's
 * hash covers everything before it, so the known part of a prompt ends at its first unknown block.
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

  /** How many of the first blocks each endpoint knows; endpoints that know none are left out. */
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
    // From the last block to the first, so that the end of a prompt is forgotten before its beginning.
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
