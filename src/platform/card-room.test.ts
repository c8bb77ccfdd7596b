import { describe, expect, it } from 'vitest'
import { type Model, modelKind } from '../resources/model.ts'
import { modelOfPod } from '../resources/model-ownership.ts'
import { type Node, nodeKind } from '../resources/node.ts'
import { type Pod, podKind } from '../resources/pod.ts'
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
    metadata: {
      name: 'p',
      namespace: 'sluice',
      labels: owner ? { 'sluice.dev/model': owner } : {},
      ownerReferences: [
        { apiVersion: 'sluice.dev/v1', kind: 'Model', name: owner, uid: `uid-${owner}`, controller: true },
      ],
    },
    spec: { nodeName, containers: [{ name: 'c', resources: { limits: { [l40s]: cards } } }] },
    status: { phase },
  })

const modelNamed = (name: string): Model =>
  modelKind.schema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name, namespace: 'sluice', uid: `uid-${name}` },
    spec: { url: 'pvc://userdata/models/m', engine: 'LlamaCpp' },
  })
const models = { get: ({ name }: { name: string }) => (name === '' ? undefined : modelNamed(name)) }
const holdingsOf = (kind: string, nodes: readonly Node[], pods: readonly Pod[]) =>
  cardHoldings(kind, nodes, pods, (one) => modelOfPod(one, models))

describe('cardHoldings', () => {
  const nodes = [node('big', '4'), node('small', '1')]

  it('counts what is free on each node, and who holds the rest', () => {
    const pods = [pod('a', '1', 'big'), pod('a', '1', 'big'), pod('b', '1', 'small'), pod('', '1', 'big')]
    expect(holdingsOf(l40s, nodes, pods)).toEqual({
      freeByNode: [1, 0],
      cardsByNode: [4, 1],
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
    expect(holdingsOf(l40s, nodes, [one])).toEqual({
      freeByNode: [4, 1],
      cardsByNode: [4, 1],
      heldBy: new Map(),
      wantedBy: new Map(),
    })
  })

  it('lays no cards to the account of a Model whose label somebody else wears', () => {
    const stranger = pod('a', '2', 'big')
    delete stranger.metadata.ownerReferences
    expect(holdingsOf(l40s, nodes, [stranger])).toMatchObject({ freeByNode: [2, 1], heldBy: new Map() })
  })

  it('knows who waits for cards', () => {
    const { freeByNode, wantedBy } = holdingsOf(l40s, nodes, [pod('a', '2'), pod('', '1')])
    expect(freeByNode).toEqual([4, 1])
    expect([...wantedBy]).toEqual([
      ['sluice/a', 2],
      ['', 1],
    ])
  })

  it('knows no cards of a kind that is not there', () => {
    expect(holdingsOf('nvidia.com/gpu-h800', nodes, [])).toMatchObject({ freeByNode: [0, 0], cardsByNode: [0, 0] })
  })
})
