import { type CardHoldings, type CardNeed, freeReplicas, podsThatFit } from './cards.ts'

/** A Model that holds cards of the wanted kind. */
export interface CardHolder {
  readonly key: string
  readonly replicas: number
  readonly minReplicas: number
  readonly cardsPerReplica: number
  /** Since its last request; undefined while it has one, or if nobody knows. */
  readonly idleMs: number | undefined
}

export interface TakeCardsInput {
  /** The Model that somebody waits for, and what a replica of it needs. */
  readonly key: string
  readonly need: CardNeed
  readonly holdings: CardHoldings
  readonly holders: readonly CardHolder[]
}

export interface CardTaking {
  readonly key: string
  readonly replicas: number
  readonly idleMs: number
}

/**
 * A Model that had a request this recently keeps its cards: the next one is likely to come, and waking costs more than
 * it gains.
 */
export const idleEnoughMs = 10_000

/**
 * Which Models give up replicas so that a Model that somebody waits for gets its first one: the longest idle first, as
 * few as needed, never below minReplicas. None if there is room, if enough cards are about to be released, or if it
 * would not be enough.
 */
export function takeCards({ key, need, holdings, holders }: TakeCardsInput): readonly CardTaking[] {
  const { cardsByNode, heldBy } = holdings
  if ((heldBy.get(key) ?? 0) >= need.count || podsThatFit(need, cardsByNode) < (need.members ?? 1)) return []
  if (freeReplicas(need, holdings) > 0) return []
  const others = holders.filter((holder) => holder.key !== key)
  const coming = others.reduce((sum, holder) => sum + cardsComing(holder, heldBy), 0)
  let missing = need.count - coming - usableCards(need, holdings)
  const takings: CardTaking[] = []
  for (const { key: holder, replicas, minReplicas, cardsPerReplica, idleMs } of longestIdleFirst(others)) {
    if (missing <= 0) break
    const spare = Math.min(replicas - minReplicas, Math.floor((heldBy.get(holder) ?? 0) / cardsPerReplica))
    const taken = Math.min(spare, Math.ceil(missing / cardsPerReplica))
    if (taken <= 0) continue
    missing -= taken * cardsPerReplica
    takings.push({ key: holder, replicas: replicas - taken, idleMs })
  }
  return missing > 0 ? [] : takings
}

/** The free cards that a replica could begin with: those of one node, or what the Pods of a group find on all nodes. */
function usableCards(need: CardNeed, { freeByNode }: CardHoldings): number {
  const { count, members = 1 } = need
  return members === 1 ? Math.max(0, ...freeByNode) : podsThatFit(need, freeByNode) * (count / members)
}

/** Cards of Pods that still exist but are no longer wanted. */
function cardsComing({ key, replicas, cardsPerReplica }: CardHolder, heldBy: ReadonlyMap<string, number>): number {
  return Math.max(0, (heldBy.get(key) ?? 0) - replicas * cardsPerReplica)
}

function longestIdleFirst(holders: readonly CardHolder[]): ReadonlyArray<CardHolder & { readonly idleMs: number }> {
  return holders
    .flatMap((holder) => {
      const { idleMs } = holder
      return idleMs !== undefined && idleMs >= idleEnoughMs ? [{ ...holder, idleMs }] : []
    })
    .sort((one, other) => other.idleMs - one.idleMs || (one.key < other.key ? -1 : 1))
}
