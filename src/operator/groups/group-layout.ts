import { mostMembers } from '../../resources/serving-group.ts'

/** How the cards of a replica are spread: equally over as few Pods as possible, each of which fits a node. */
export interface GroupLayout {
  /** 1: an ordinary Pod. */
  readonly members: number
  readonly cardsEach: number
}

export type LayoutOutcome = GroupLayout | { readonly problem: string }

/**
 * The layout of a replica with so many cards, where the nodes have that many each; or why there is none.
 * `nodeCards` undefined: nobody knows the nodes yet.
 */
export function groupLayout(card: string, cards: number, nodeCards: readonly number[] | undefined): LayoutOutcome {
  const whole = { members: 1, cardsEach: cards }
  if (nodeCards === undefined) return whole
  const largest = Math.max(0, ...nodeCards)
  if (largest >= cards) return whole
  if (largest === 0) return { problem: `No node has ${card}.` }
  const tooLarge = `No node has ${cards} ${card}; the largest has ${largest}`
  const members = Math.ceil(cards / largest)
  if (nodeCards.length === 1 || members > mostMembers) return { problem: `${tooLarge}.` }
  if (cards % members !== 0) {
    const next = cards + members - (cards % members)
    const even = `${cards} cards cannot be shared equally among the ${members} Pods that would take`
    return { problem: `${tooLarge}, and ${even}. Ask for ${next - members} or ${next}.` }
  }
  const cardsEach = cards / members
  const room = nodeCards.reduce((sum, count) => sum + Math.floor(count / cardsEach), 0)
  if (room < members) {
    const fitting = `the nodes together hold ${room} of the ${members} Pods of ${cardsEach} cards that would take`
    return { problem: `${tooLarge}, and ${fitting}.` }
  }
  return { members, cardsEach }
}
