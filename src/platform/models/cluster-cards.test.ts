import { expect, it } from 'vitest'
import { builtInProfiles } from '../../operator/resource-profile.ts'
import { type Model, modelKind, modelSchema } from '../../resources/model.ts'
import { type Node, nodeSchema } from '../../resources/node.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import { ClusterCards } from './cluster-cards.ts'
import { builtInEngines } from '../../operator/engines/built-in-engines.ts'
import { modelWarning } from './model-warning.ts'

const [l40s, h800] = ['nvidia.com/gpu-l40s', 'nvidia.com/gpu-h800']

const nodeWith = (name: string, cards: Record<string, string>, conditions: unknown[] = []): Node =>
  nodeSchema.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { capacity: { memory: '8Gi', cpu: '4', ...cards }, conditions },
  })

const modelWith = (resourceProfile: string, replicas?: number): Model =>
  modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'm', namespace: 'sluice' },
    spec: { url: 'pvc://userdata/m', engine: 'LlamaCpp', resourceProfile, replicas },
  })

function stage() {
  const nodes = new HeldObjects<Node>()
  const cards = new ClusterCards({ own: new Map([['here', new Map([[l40s, 2]])]]), nodes, table: builtInProfiles })
  let changes = 0
  cards.onChange(() => (changes += 1))
  return { nodes, cards, changes: () => changes }
}

it('counts the cards of this machine before its Node is there, and then those of every node', () => {
  const { nodes, cards } = stage()
  expect(cards.facts()).toMatchObject({ cardKinds: [l40s], largestNode: new Map([[l40s, 2]]) })
  nodes.put(nodeWith('a', { [l40s]: '2', [h800]: '4', 'example.com/fpga': '1' }))
  nodes.put(nodeWith('b', { [h800]: '8' }))
  expect(cards.facts().cardKinds).toEqual([l40s, h800])
  expect(cards.facts().largestNode?.get(h800)).toBe(8)
  expect(cards.facts().largestNode?.get('example.com/fpga')).toBe(1)
  expect(cards.facts().nodeCards?.get(h800)).toEqual([4, 8])
  nodes.remove({ name: 'b' })
  expect(cards.facts().largestNode?.get(h800)).toBe(4)
})

it('counts the cards of this machine once, whether its Node is there or not', () => {
  const { nodes, cards } = stage()
  expect(cards.facts().nodeCards).toEqual(new Map([[l40s, [2]]]))
  nodes.put(nodeWith('here', { [l40s]: '2' }))
  nodes.put(nodeWith('there', { [l40s]: '2' }))
  expect(cards.facts().nodeCards?.get(l40s)).toEqual([2, 2])
})

it('tells of other cards, and not of every report of a node', () => {
  const { nodes, changes } = stage()
  nodes.put(nodeWith('a', { [h800]: '4' }))
  nodes.put(nodeWith('a', { [h800]: '4' }, [{ type: 'Ready', status: 'True' }]))
  expect(changes()).toBe(1)
  nodes.put(nodeWith('a', { [h800]: '8' }))
  expect(changes()).toBe(2)
})

it('warns about a Model that no node can hold or no engine serves, when that is new', () => {
  const { nodes, cards } = stage()
  const plugin = modelWarning(() => cards.facts(), builtInEngines)
  const warningsOf = (object: Model, previous?: Model) => {
    const warnings: string[] = []
    const operation = previous ? 'update' : 'create'
    plugin.hold?.({ operation, kind: modelKind, object, previous, warn: (text) => warnings.push(text) })
    return warnings
  }
  expect(warningsOf(modelWith(`${l40s}:1`))).toEqual([])
  expect(warningsOf(modelWith(`${h800}:1`))).toEqual([`No node has ${h800}.`])
  expect(warningsOf(modelWith(`${h800}:1`, 1), modelWith(`${h800}:1`))).toEqual([])
  expect(warningsOf(modelWith(`${h800}:1`), modelWith(`${l40s}:1`))).toHaveLength(1)
  nodes.put(nodeWith('a', { [h800]: '4' }))
  expect(warningsOf(modelWith(`${h800}:1`))).toEqual([])
  const steam = modelWith(`${h800}:1`)
  steam.spec.engine = 'Steam'
  expect(warningsOf(steam)).toEqual(['The engine Steam is not known here. Known: LlamaCpp, VLLM.'])
  expect(warningsOf(steam, steam)).toEqual([])
  const adapted = modelWith(`${h800}:1`)
  adapted.spec.adapters = [{ name: 'sql', url: 'pvc://userdata/sql' }]
  adapted.spec.engine = 'LlamaCpp'
  expect(warningsOf(adapted)).toEqual([expect.stringContaining('loads no adapters')])
  expect(warningsOf(adapted, adapted)).toEqual([])
})
