import type { Model } from '../resources/model.ts'

/** What the autoscaler needs to know about cards. Implemented by the platform. */
export interface Cards {
  /** What one replica holds; undefined if nobody knows. */
  perReplica(model: Model): CardNeed | undefined
  holdings(kind: string): CardHoldings
}

export interface CardNeed {
  readonly kind: string
  readonly count: number
}

/** The state of one kind of card. */
export interface CardHoldings {
  /** Free cards per node: the cards of a Pod are all on one node. */
  readonly freeByNode: readonly number[]
  /** The most cards that a node has, free or not. */
  readonly largestNode: number
  /** Cards held by a Model's Pods, by `namespace/name`. */
  readonly heldBy: ReadonlyMap<string, number>
  /** Cards that Pods without a node wait for, by the same key; Pods that belong to no Model have the empty key. */
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
