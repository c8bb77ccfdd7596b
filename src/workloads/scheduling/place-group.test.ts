import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Node, nodeSchema } from '../../resources/node.ts'
import { podSchema } from '../../resources/pod.ts'
import { placeGroup } from './place-group.ts'

const card = 'nvidia.com/gpu-h800'

function node(name: string, cards: number): Node {
  return nodeSchema.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    spec: {},
    status: { allocatable: { [card]: String(cards), pods: '110' }, conditions: [{ type: 'Ready', status: 'True' }] },
  })
}

function members(count: number, cards: number) {
  return Array.from({ length: count }, (_, rank) =>
    podSchema.parse({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `g-${rank}`, namespace: 'default', uid: `g-${rank}` },
      spec: { containers: [{ name: 'engine', resources: { limits: { [card]: String(cards) } } }] },
    }),
  )
}

describe('placing a group', () => {
  it('gives every member a node', () => {
    expect(placeGroup(members(2, 8), [node('a', 8), node('b', 8)], new Map())).toEqual({ nodes: ['a', 'b'] })
    expect(placeGroup(members(2, 4), [node('a', 8)], new Map())).toEqual({ nodes: ['a', 'a'] })
  })

  it('places nobody where one finds no room, and says how many would', () => {
    expect(placeGroup(members(3, 8), [node('a', 8), node('b', 8)], new Map())).toEqual({
      unschedulable: `2 of 3 Pods of the group fit: 0/2 nodes are available: 2 Insufficient ${card}.`,
    })
  })

  it('finds room exactly where there is enough on the nodes together, and gives no card twice', () => {
    const sizes = fc.array(fc.record({ cards: fc.nat(9), used: fc.nat(9) }), { maxLength: 5 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 4 }), (all, count, each) => {
        const nodes = all.map(({ cards }, index) => node(`n${index}`, cards))
        const free = all.map(({ cards, used }) => Math.max(0, cards - used))
        const used = new Map(
          all.map(({ cards }, index) => [`n${index}`, new Map([[card, (cards - (free[index] ?? 0)) * 1000]])]),
        )
        const fits = free.reduce((sum, cards) => sum + Math.floor(cards / each), 0)
        const placement = placeGroup(members(count, each), nodes, used)
        expect('nodes' in placement).toBe(fits >= count)
        if (!('nodes' in placement)) return
        expect(placement.nodes).toHaveLength(count)
        for (const [name, group] of Map.groupBy(placement.nodes, (one) => one)) {
          expect(group.length * each).toBeLessThanOrEqual(free[Number(name.slice(1))] ?? 0)
        }
      }),
    )
  })
})
