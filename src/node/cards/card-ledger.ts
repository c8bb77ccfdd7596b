import type { Container, Pod } from '../../resources/pod.ts'
import { parseQuantity } from '../../resources/quantity.ts'
import type { Card } from './card.ts'
import { isSidecar } from '../pods/pod-parts.ts'
import { MachineCards } from './machine-cards.ts'

/** Which cards each container of a Pod got, by the container's name. */
export type PodCards = ReadonlyMap<string, readonly number[]>

/** How many cards of a kind a cluster may have. */
export type CardLimit = (kind: string) => number

/** What a cluster's Pods have of the machine's cards, and may have. */
export class CardLedger {
  readonly #machine: MachineCards
  readonly #limit: CardLimit
  readonly #byPod = new Map<string, Map<string, readonly number[]>>()

  constructor(cards: readonly Card[] | MachineCards, limit: CardLimit = () => Infinity) {
    this.#machine = cards instanceof MachineCards ? cards : new MachineCards(cards)
    this.#limit = limit
  }

  /** All the cards a Pod asks for, or a sentence that says what is missing. Asking again gives the same ones. */
  take(pod: Pod): PodCards | { readonly missing: string } {
    const uid = pod.metadata.uid ?? ''
    const held = this.#byPod.get(uid) ?? new Map<string, readonly number[]>()
    const granted = new Map(held)
    const free = new Set(this.#free())
    const own = new Set(this.#machine.all.filter(({ index }) => this.#machine.holderOf(index) === uid))
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

  /** Why a Pod can never run here: it had cards that are not there any more, or asks for more than there are. */
  lackOf(pod: Pod): { readonly kind: string; readonly message: string } | undefined {
    const held = this.#byPod.get(pod.metadata.uid ?? '')
    const gone = [...(held?.values() ?? [])].flat().filter((index) => !this.#known(index))
    for (const [kind, wanted] of wantedCards(pod)) {
      if (gone.length > 0)
        return { kind, message: `the cards ${gone.join(', ')} that the Pod had do not exist any more` }
      const there = this.#countOf(kind)
      const message = `the Pod asks for ${wanted} × ${kind}, and there ${there === 1 ? 'is' : 'are'} ${there}`
      if (!held && wanted > there) return { kind, message }
    }
    return undefined
  }

  /** What an adopted container already has. */
  remember(podUid: string, container: string, indices: readonly number[]): void {
    const held = this.#byPod.get(podUid) ?? new Map<string, readonly number[]>()
    this.#byPod.set(podUid, held)
    held.set(container, indices)
    this.#machine.hold(
      podUid,
      indices.filter((index) => this.#known(index)),
    )
  }

  release(podUid: string): void {
    this.#byPod.delete(podUid)
    this.#machine.release(podUid)
  }

  /** What is known of these. */
  describe(indices: readonly number[]): readonly Card[] {
    return this.#machine.all.filter(({ index }) => indices.includes(index))
  }

  setLost(indices: ReadonlySet<number>): void {
    this.#machine.setLost(indices)
  }

  /** What the cluster has of them, whoever has which at the moment. */
  get share(): readonly Card[] {
    return this.#kinds().flatMap((kind) => ofKind(this.#machine.all, kind).slice(0, this.#countOf(kind)))
  }

  get lost(): readonly Card[] {
    const answering = new Set(this.#machine.answering)
    return this.#machine.all.filter((card) => !answering.has(card))
  }

  /** How many of each kind its Pods can have, those that they have among them: not what Pods of other clusters have. */
  get allocatable(): Readonly<Record<string, number>> {
    const reachable = this.#machine.answering.filter(({ index }) => {
      const holder = this.#machine.holderOf(index)
      return holder === undefined || this.#byPod.has(holder)
    })
    return Object.fromEntries(
      this.#kinds().map((kind) => [kind, Math.min(this.#countOf(kind), ofKind(reachable, kind).length)]),
    )
  }

  get heldCount(): number {
    return this.#held().length
  }

  #free(): readonly Card[] {
    const free = this.#machine.answering.filter(({ index }) => this.#machine.holderOf(index) === undefined)
    const held = this.#held()
    return this.#kinds().flatMap((kind) =>
      ofKind(free, kind).slice(0, Math.max(0, this.#countOf(kind) - ofKind(held, kind).length)),
    )
  }

  #held(): readonly Card[] {
    return this.#machine.all.filter(({ index }) => this.#byPod.has(this.#machine.holderOf(index) ?? ''))
  }

  #countOf(kind: string): number {
    return Math.min(this.#limit(kind), ofKind(this.#machine.all, kind).length)
  }

  #kinds(): readonly string[] {
    return [...new Set(this.#machine.all.map(({ kind }) => kind))]
  }

  #known(index: number): boolean {
    return this.#machine.all.some((card) => card.index === index)
  }
}

function ofKind(cards: readonly Card[], kind: string): readonly Card[] {
  return cards.filter((card) => card.kind === kind)
}

/** The most that a Pod needs at a time: init containers that end run one after the other, before the others. */
function wantedCards({ spec }: Pod): ReadonlyMap<string, number> {
  const wanted = new Map<string, number>()
  const inits = spec.initContainers ?? []
  for (const [kind, count] of [...spec.containers, ...inits.filter(isSidecar)].flatMap(requestedCards)) {
    wanted.set(kind, (wanted.get(kind) ?? 0) + count)
  }
  for (const [kind, count] of inits.flatMap(requestedCards)) wanted.set(kind, Math.max(wanted.get(kind) ?? 0, count))
  return wanted
}

const cardPattern = /^[a-z0-9.-]+\.com\/gpu-[a-z0-9-]+$/

function requestedCards(container: Container): [string, number][] {
  const { limits, requests } = container.resources ?? {}
  return Object.entries({ ...requests, ...limits }).flatMap(([name, quantity]) => {
    const count = cardPattern.test(name) ? Math.ceil(parseQuantity(quantity) ?? 0) : 0
    return count > 0 ? [[name, count]] : []
  })
}
