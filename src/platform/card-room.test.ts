import { describe, expect, it } from 'vitest'
import { nodeKind } from '../resources/node.ts'
import { podKind } from '../resources/pod.ts'
import { cardHoldings } from './card-room.ts'

const l40s = 'nvidia.com/gpu-l40s'
const node = (name: string, cards: string) =>
  nodeKind.schema.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { allocatable: { [l40s]: cards } },
  })
const pod = (owner: string, cards: string, nodeName?: string, phase = 'Running') =>
  podKind.schema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'sluice', labels: owner ? { 'sluice.dev/model': owner } : {} },
    spec: { nodeName, containers: [{ name: 'c', resources: { limits: { [l40s]: cards } } }] },
    status: { phase },
  })

describe('cardHoldings', () => {
  const nodes = [node('big', '4'), node('small', '1')]

  it('counts what is free on each node, and who holds the rest', () => {
    const pods = [pod('a', '1', 'big'), pod('a', '1', 'big'), pod('b', '1', 'small'), pod('', '1', 'big')]
    expect(cardHoldings(l40s, nodes, pods)).toEqual({
      freeByNode: [1, 0],
      largestNode: 4,
      heldBy: new Map([
        ['sluice/a', 2],
        ['sluice/b', 1],
      ]),
      wantedBy: new Map(),
    })
  })

  it.each([
    ['finished', pod('a', '1', 'big', 'Failed')],
    ['of another kind', pod('a', '0', 'big')],
  ])('holds nothing against a Pod that is %s', (_case, one) => {
    expect(cardHoldings(l40s, nodes, [one])).toEqual({
      freeByNode: [4, 1],
      largestNode: 4,
      heldBy: new Map(),
      wantedBy: new Map(),
    })
  })

  it('knows who waits for cards', () => {
    const { freeByNode, wantedBy } = cardHoldings(l40s, nodes, [pod('a', '2'), pod('', '1')])
    expect(freeByNode).toEqual([4, 1])
    expect([...wantedBy]).toEqual([
      ['sluice/a', 2],
      ['', 1],
    ])
  })

  it('knows no cards of a kind that is not there', () => {
    expect(cardHoldings('nvidia.com/gpu-h800', nodes, [])).toMatchObject({ freeByNode: [0, 0], largestNode: 0 })
  })
})
