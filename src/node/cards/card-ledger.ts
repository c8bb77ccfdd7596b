import type { Container, Pod } from '../../resources/pod.ts'
import { parseQuantity } from '../../resources/quantity.ts'
import type { Card } from './card.ts'
import { isSidecar } from '../pods/pod-parts.ts'

/** The cards of each container of a Pod, by container name. */
export type PodCards = ReadonlyMap<string, readonly number[]>

/** Who holds which card. A card has at most one holder, who keeps it until all its processes are gone. */
export class CardLedger {
  readonly #cards: readonly Card[]
  readonly #holders = new Map<number, string>()
  readonly #byPod = new Map<string, Map<string, readonly number[]>>()
  #lost: ReadonlySet<number> = new Set()

  constructor(cards: readonly Card[]) {
    this.#cards = cards
  }

  /**
   * Gives a Pod all the cards it asks for, or a sentence that says what is missing. Asking again returns the same
   * cards.
   */
  take(pod: Pod): PodCards | { readonly missing: string } {
    const uid = pod.metadata.uid ?? ''
    const held = this.#byPod.get(uid) ?? new Map<string, readonly number[]>()
    const granted = new Map(held)
    const free = new Set(this.#cards.filter(({ index }) => !this.#holders.has(index) && !this.#lost.has(index)))
    const own = new Set(this.#cards.filter(({ index }) => this.#holders.get(index) === uid))
    const grant = (container: Container, candidates: readonly Card[]): string | undefined => {
      if (granted.has(container.name)) return undefined
      const chosen: Card[] = []
      for (const [kind, count] of requestedCards(container)) {
        const matching = candidates.filter((card) => card.kind === kind).slice(0, count)
        if (matching.length < count) return `waiting for ${count} × ${kind}: ${matching.length} free`
        chosen.push(...matching)
      }
      for (const card of chosen) {
        free.delete(card)
        own.add(card)
      }
      granted.set(
        container.name,
        chosen.map(({ index }) => index),
      )
      return undefined
    }
    const inits = pod.spec.initContainers ?? []
    for (const container of [...pod.spec.containers, ...inits.filter(isSidecar)]) {
      const missing = grant(container, [...free])
      if (missing) return { missing }
    }
    // Init containers that are no sidecars have ended when the others start, so they can use the same cards.
    for (const container of inits) {
      const missing = grant(container, [...own, ...free])
      if (missing) return { missing }
    }
    for (const [container, indices] of granted) this.remember(uid, container, indices)
    return granted
  }

  /** Notes the cards that an adopted container already uses. */
  remember(podUid: string, container: string, indices: readonly number[]): void {
    const held = this.#byPod.get(podUid) ?? new Map<string, readonly number[]>()
    this.#byPod.set(podUid, held)
    held.set(container, indices)
    for (const index of indices) this.#holders.set(index, podUid)
  }

  release(podUid: string): void {
    this.#byPod.delete(podUid)
    for (const [index, holder] of this.#holders) {
      if (holder === podUid) this.#holders.delete(index)
    }
  }

  /** Details of the cards with these indices. */
  describe(indices: readonly number[]): readonly Card[] {
    return this.#cards.filter(({ index }) => indices.includes(index))
  }

  /** Marks cards that do not answer: their holders keep them, but nobody else gets them. */
  setLost(indices: ReadonlySet<number>): void {
    this.#lost = indices
  }

  /** Cards that work, whether free or held. */
  get usable(): readonly Card[] {
    return this.#cards.filter(({ index }) => !this.#lost.has(index))
  }

  get heldCount(): number {
    return this.#holders.size
  }
}

const cardPattern = /^[a-z0-9.-]+\.com\/gpu-[a-z0-9-]+$/

function requestedCards(container: Container): [string, number][] {
  const { limits, requests } = container.resources ?? {}
  return Object.entries({ ...requests, ...limits }).flatMap(([name, quantity]) => {
    const count = cardPattern.test(name) ? Math.ceil(parseQuantity(quantity) ?? 0) : 0
    return count > 0 ? [[name, count]] : []
  })
}
