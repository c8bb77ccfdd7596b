import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { replicasThatFit } from './cards.ts'
import { type CardHolder, takeCards } from './take-cards.ts'

const kind = 'nvidia.com/gpu-l40s'
const holder = (key: string, idleMs: number | undefined, more: Partial<CardHolder> = {}): CardHolder => ({
  key,
  replicas: 1,
  minReplicas: 0,
  cardsPerReplica: 1,
  idleMs,
  ...more,
})
const minute = 60_000

function taken(options: {
  count?: number
  members?: number
  all?: readonly number[]
  free?: readonly number[]
  largest?: number
  holders: readonly CardHolder[]
  held?: Record<string, number>
}): Record<string, number> {
  const { count = 1, members, free = [0], largest = 4, all = [largest], holders, held = {} } = options
  const heldBy = new Map(holders.map(({ key, replicas, cardsPerReplica }) => [key, replicas * cardsPerReplica]))
  for (const [key, cards] of Object.entries(held)) heldBy.set(key, cards)
  const holdings = { freeByNode: free, cardsByNode: all, heldBy, wantedBy: new Map<string, number>() }
  const takings = takeCards({ key: 'mine', need: { kind, count, members }, holdings, holders })
  return Object.fromEntries(takings.map(({ key, replicas }) => [key, replicas]))
}

describe('takeCards', () => {
  it.each([
    ['from the longest idle', { holders: [holder('a', minute), holder('b', 2 * minute)] }, { b: 0 }],
    ['nothing while there is room', { holders: [holder('a', minute)], free: [0, 1] }, {}],
    ['nothing from who has a request', { holders: [holder('a', undefined)] }, {}],
    ['nothing from who had one a moment ago', { holders: [holder('a', 9_999)] }, {}],
    ['nothing below minReplicas', { holders: [holder('a', minute, { minReplicas: 1 })] }, {}],
    ['only what is above it', { holders: [holder('a', minute, { replicas: 3, minReplicas: 1 })] }, { a: 2 }],
    [
      'from several when one is not enough',
      { count: 2, holders: [holder('a', minute), holder('b', 2 * minute), holder('c', 3 * minute)] },
      { c: 0, b: 0 },
    ],
    ['nothing when it would not be enough', { count: 3, holders: [holder('a', minute), holder('b', minute)] }, {}],
    [
      'for a group what it lacks on all nodes together',
      { count: 16, members: 2, all: [8, 8], free: [8, 0], holders: [holder('a', minute, { cardsPerReplica: 8 })] },
      { a: 0 },
    ],
    [
      'nothing for a group while there is room for all of it',
      {
        count: 16,
        members: 2,
        all: [8, 8, 8],
        free: [8, 8, 0],
        holders: [holder('a', minute, { cardsPerReplica: 8 })],
      },
      {},
    ],
    [
      'nothing for a group that the nodes can never hold',
      { count: 16, members: 2, all: [8, 4], free: [0, 0], holders: [holder('a', minute, { cardsPerReplica: 8 })] },
      {},
    ],
    ['nothing when no node is large enough', { count: 2, largest: 1, holders: [holder('a', minute)] }, {}],
    [
      'nothing more while cards are on their way',
      { holders: [holder('a', minute, { replicas: 0 }), holder('b', minute)], held: { a: 1 } },
      {},
    ],
    ['nothing when its own Pod has a card', { holders: [holder('a', minute)], held: { mine: 1 } }, {}],
    ['nothing from whose Pods have none', { holders: [holder('a', minute)], held: { a: 0 } }, {}],
    [
      'one large replica instead of two small ones, when it was idle longer',
      { count: 2, holders: [holder('a', minute), holder('b', 2 * minute, { cardsPerReplica: 2 })] },
      { b: 0 },
    ],
  ] as const)('takes %s', (_case, options, expected) => {
    expect(taken(options)).toEqual(expected)
  })

  it('never goes below minReplicas, never touches who is busy, and takes enough or nothing', () => {
    const holders = fc.uniqueArray(
      fc.record({
        key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
        replicas: fc.nat(4),
        minReplicas: fc.nat(2),
        cardsPerReplica: fc.integer({ min: 1, max: 3 }),
        idleMs: fc.option(fc.nat(100_000), { nil: undefined }),
      }),
      { selector: ({ key }) => key },
    )
    fc.assert(
      fc.property(holders, fc.integer({ min: 1, max: 4 }), (list, count) => {
        const result = taken({ count, holders: list })
        let freed = 0
        for (const one of list) {
          const replicas = result[one.key]
          if (replicas === undefined) continue
          expect(one.idleMs).toBeGreaterThanOrEqual(10_000)
          expect(replicas).toBeGreaterThanOrEqual(one.minReplicas)
          expect(replicas).toBeLessThan(one.replicas)
          freed += (one.replicas - replicas) * one.cardsPerReplica
        }
        expect(freed === 0 || freed >= count).toBe(true)
      }),
    )
  })
})

describe('replicasThatFit', () => {
  const fit = (
    count: number,
    freeByNode: number[],
    held: Array<[string, number]>,
    wanted: Array<[string, number]> = [],
    members?: number,
  ) =>
    replicasThatFit(
      'mine',
      { kind, count, members },
      {
        freeByNode,
        cardsByNode: [8],
        heldBy: new Map(held),
        wantedBy: new Map(wanted),
      },
    )

  it.each([
    ['all cards are free', fit(1, [4], []), 4],
    ['two cards each', fit(2, [4], []), 2],
    ['two cards each must be on one node', fit(2, [1, 1, 3], []), 1],
    ['a group is spread over nodes', fit(16, [8, 8, 4], [], [], 2), 1],
    ['there are no half groups', fit(16, [8, 7, 8, 8], [], [], 2), 1],
    ['its own groups count as room', fit(16, [8, 0], [['mine', 16]], [], 2), 1],
    ['its own Pods count as room', fit(1, [1], [['mine', 3]]), 4],
    ['others are in the way', fit(1, [1], [['theirs', 3]]), 1],
    ['others come first', fit(1, [3], [], [['theirs', 2]]), 1],
    ['its own that wait do not', fit(1, [3], [], [['mine', 2]]), 3],
  ])('%s', (_case, replicas, expected) => {
    expect(replicas).toBe(expected)
  })
})
