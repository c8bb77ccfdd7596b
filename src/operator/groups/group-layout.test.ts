import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupLayout } from './group-layout.ts'

const card = 'nvidia.com/gpu-h800'
const layout = (cards: number, nodes: readonly number[] | undefined) => groupLayout(card, cards, nodes)

describe('the layout of a replica', () => {
  it.each([
    [16, [8, 8], { members: 2, cardsEach: 8 }],
    [16, [8, 8, 8, 8], { members: 2, cardsEach: 8 }],
    [12, [8, 8], { members: 2, cardsEach: 6 }],
    [8, [8, 8], { members: 1, cardsEach: 8 }],
    [16, undefined, { members: 1, cardsEach: 16 }],
    [6, [4, 3], { members: 2, cardsEach: 3 }],
  ])('of %i cards on nodes with %j', (cards, nodes, wanted) => {
    expect(layout(cards, nodes)).toEqual(wanted)
  })

  it.each([
    [8, [], `No node has ${card}.`],
    [8, [4], `No node has 8 ${card}; the largest has 4.`],
    [
      9,
      [8, 8],
      `No node has 9 ${card}; the largest has 8, and 9 cards cannot be shared equally among the 2 Pods that would take. Ask for 8 or 10.`,
    ],
    [
      16,
      [8, 4],
      `No node has 16 ${card}; the largest has 8, and the nodes together hold 1 of the 2 Pods of 8 cards that would take.`,
    ],
  ])('is refused for %i cards on nodes with %j', (cards, nodes, problem) => {
    expect(layout(cards, nodes)).toEqual({ problem })
  })

  it('always has all cards, equally, on nodes that are there', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), fc.array(fc.nat(16), { maxLength: 6 }), (cards, nodes) => {
        const outcome = layout(cards, nodes)
        if ('problem' in outcome) return
        const { members, cardsEach } = outcome
        expect(members * cardsEach).toBe(cards)
        expect(nodes.reduce((sum, count) => sum + Math.floor(count / cardsEach), 0)).toBeGreaterThanOrEqual(members)
        const withOneLess = members === 1 ? Infinity : cards / (members - 1)
        expect(withOneLess).toBeGreaterThan(Math.max(0, ...nodes))
      }),
    )
  })
})
