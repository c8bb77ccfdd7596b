import type { Model } from '../resources/model.ts'

/** What the autoscaler needs to know of cards. Filled by platform. */
export interface Cards {
  /** What one replica holds; undefined where nobody can say. */
  perReplica(model: Model): CardNeed | undefined
  holdings(kind: string): CardHoldings
}

export interface CardNeed {
  readonly kind: string
  readonly count: number
}

/** How things are with one kind of card. */
export interface CardHoldings {
  /** Cards that nobody holds, per node: a Pod's cards are all on one. */
  readonly freeByNode: readonly number[]
  /** The most cards that a node has, free or not. */
  readonly largestNode: number
  /** Cards in the hands of a Model's Pods, by `namespace/name`. */
  readonly heldBy: ReadonlyMap<string, number>
  /** Cards that Pods without a node wait for, by the same; of Pods of no Model under the empty name. */
  readonly wantedBy: ReadonlyMap<string, number>
}

/** How many replicas of a Model there could be without moving anybody else's Pods. */
export function replicasThatFit(key: string, { count }: CardNeed, holdings: CardHoldings): number {
  const { freeByNode, heldBy, wantedBy } = holdings
  const own = Math.floor((heldBy.get(key) ?? 0) / count)
  const room = freeByNode.reduce((sum, free) => sum + Math.floor(free / count), 0)
  let ahead = 0
  for (const [other, cards] of wantedBy) if (other !== key) ahead += cards
  return own + Math.max(0, room - Math.ceil(ahead / count))
}
