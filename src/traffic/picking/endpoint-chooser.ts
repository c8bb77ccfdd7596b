import type { ReserveHint } from '../endpoint-pool.ts'
import { type EndpointLoad, pickEndpoint } from './pick-endpoint.ts'
import { PrefixMemory } from './prefix-memory.ts'

/** Picks one of a model's endpoints, and remembers which prompts it sent where. */
export class EndpointChooser<E extends EndpointLoad> {
  readonly #isOpen: (endpoint: E) => boolean
  #prefixes: PrefixMemory<E> | undefined
  #lastPicked = ''

  constructor(isOpen: (endpoint: E) => boolean) {
    this.#isOpen = isOpen
  }

  /**
   * Excluded endpoints come last but are not ruled out: a failed one is open again only after a probe found it healthy.
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

  /** The common case: a model with one endpoint. */
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
