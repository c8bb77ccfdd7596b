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
  /** How many Pods share the cards equally, each on a node that has its part; one, unless it is said. */
  readonly members?: number | undefined
}

/** The state of one kind of card. */
export interface CardHoldings {
  /** Free cards per node: the cards of a Pod are all on one node. */
  readonly freeByNode: readonly number[]
  /** All cards per node, free or not. */
  readonly cardsByNode: readonly number[]
  /** Cards held by a Model's Pods, by `namespace/name`. */
  readonly heldBy: ReadonlyMap<string, number>
  /** Cards that Pods without a node wait for, by the same key; Pods that belong to no Model have the empty key. */
  readonly wantedBy: ReadonlyMap<string, number>
}

/** How many replicas of a Model there could be without moving anybody else's Pods. */
export function replicasThatFit(key: string, need: CardNeed, holdings: CardHoldings): number {
  const { heldBy, wantedBy } = holdings
  const own = Math.floor((heldBy.get(key) ?? 0) / need.count)
  let ahead = 0
  for (const [other, cards] of wantedBy) if (other !== key) ahead += cards
  return own + Math.max(0, freeReplicas(need, holdings) - Math.ceil(ahead / need.count))
}

/** How many replicas find room on what is free. */
export function freeReplicas(need: CardNeed, { freeByNode }: CardHoldings): number {
  const { members = 1 } = need
  return Math.floor(podsThatFit(need, freeByNode) / members)
}

/** How many Pods of replicas find room on nodes with so many cards. */
export function podsThatFit({ count, members = 1 }: CardNeed, nodes: readonly number[]): number {
  return nodes.reduce((sum, cards) => sum + Math.floor(cards / (count / members)), 0)
}
