import type { Container, Pod } from '../../resources/pod.ts'
import { parseQuantity } from '../../resources/quantity.ts'
import type { Card } from './card.ts'
import { isSidecar } from '../pods/pod-parts.ts'

/** Which cards each container of a Pod got, by the container's name. */
export type PodCards = ReadonlyMap<string, readonly number[]>

/** Who has which card. A card has one holder at most, and stays held until the holder's processes are gone. */
export class CardLedger {
  readonly #cards: readonly Card[]
  readonly #holders = new Map<number, string>()
  readonly #byPod = new Map<string, Map<string, readonly number[]>>()
  #lost: ReadonlySet<number> = new Set()

  constructor(cards: readonly Card[]) {
    this.#cards = cards
  }

  /** All the cards a Pod asks for, or a sentence that says what is missing. Asking again gives the same ones. */
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
    // Init containers that end run before the others and may use their cards.
    for (const container of inits) {
      const missing = grant(container, [...own, ...free])
      if (missing) return { missing }
    }
    for (const [container, indices] of granted) this.remember(uid, container, indices)
    return granted
  }

  /** What an adopted container already has. */
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

  /** What is known of these. */
  describe(indices: readonly number[]): readonly Card[] {
    return this.#cards.filter(({ index }) => indices.includes(index))
  }

  /** Cards that do not answer: who has one keeps it, nobody else gets it. */
  setLost(indices: ReadonlySet<number>): void {
    this.#lost = indices
  }

  /** The cards that can be handed out, now or when they are free again. */
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
