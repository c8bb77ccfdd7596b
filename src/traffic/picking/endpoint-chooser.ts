import type { ReserveHint } from '../endpoint-pool.ts'
import { type EndpointLoad, pickEndpoint } from './pick-endpoint.ts'
import { PrefixMemory } from './prefix-memory.ts'

/** Picks among one model's endpoints, and remembers for the next time what it picked them for. */
export class EndpointChooser<E extends EndpointLoad> {
  readonly #isOpen: (endpoint: E) => boolean
  #prefixes: PrefixMemory<E> | undefined
  #lastPicked = ''

  constructor(isOpen: (endpoint: E) => boolean) {
    this.#isOpen = isOpen
  }

  /**
   * What failed is not open until it has shown to be healthy, so an excluded one that is open is better than none.
   */
  choose(open: ReadonlyMap<string, E>, hint: ReserveHint): E | undefined {
    if (open.size === 1) return this.#theOnly(open.values())
    const { exclude } = hint
    const blocks = open.size > 1 ? hint.prefix?.() : undefined
    const knownBlocks = blocks?.length ? this.#prefixes?.match(blocks, this.#isOpen) : undefined
    const lastPicked = this.#lastPicked
    const endpoint =
      pickEndpoint(open.values(), { exclude, lastPicked, knownBlocks }) ??
      (exclude?.size ? pickEndpoint(open.values(), { lastPicked }) : undefined)
    if (!endpoint) return undefined
    this.#lastPicked = endpoint.name
    if (blocks?.length) this.remember(blocks, endpoint)
    return endpoint
  }

  /** Most models have one: there is nothing to compare. */
  #theOnly(open: Iterable<E>): E | undefined {
    for (const endpoint of open) {
      if (endpoint.inFlight >= endpoint.capacity) return undefined
      this.#lastPicked = endpoint.name
      return endpoint
    }
    return undefined
  }

  remember(blocks: readonly number[], endpoint: E): void {
    this.#prefixes ??= new PrefixMemory()
    this.#prefixes.remember(blocks, endpoint)
  }
}
