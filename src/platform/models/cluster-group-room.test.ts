import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { type Node, nodeSchema } from '../../resources/node.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { groupGate } from '../../resources/serving-group.ts'
import { ClusterGroupRoom } from './cluster-group-room.ts'

const card = 'nvidia.com/gpu-h800'

const node = (name: string): Node =>
  nodeSchema.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    spec: {},
    status: { allocatable: { [card]: '8', pods: '110' }, conditions: [{ type: 'Ready', status: 'True' }] },
  })

const pod = (name: string, about: { nodeName?: string; gated?: boolean; cards?: number } = {}): Pod =>
  podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'sluice', uid: name },
    spec: {
      nodeName: about.nodeName,
      ...(about.gated && { schedulingGates: [{ name: groupGate }] }),
      containers: [{ name: 'engine', resources: { limits: { [card]: String(about.cards ?? 8) } } }],
    },
  })

function stage() {
  const pods = new HeldObjects<Pod>()
  const nodes = new HeldObjects<Node>()
  const clock = new FakeClock()
  for (const name of ['a', 'b']) nodes.put(node(name))
  const group = (name: string) => {
    const members = [0, 1].map((rank) => pod(`${name}-${rank}`, { gated: true }))
    for (const member of members) pods.put(member)
    return members
  }
  return { pods, nodes, clock, group, room: new ClusterGroupRoom({ pods, nodes, clock }) }
}

describe('room for a group', () => {
  it('is there when all members fit, whatever holds others back', () => {
    const { room, group, pods } = stage()
    const members = group('g')
    group('other')
    expect(room.lack(members)).toBeUndefined()
    pods.put(pod('busy', { nodeName: 'b', cards: 1 }))
    expect(room.lack(members)).toMatch(/^1 of 2 Pods of the group fit/)
  })

  it('is not there for two groups at once, though the cache does not show yet that one has it', () => {
    const { room, group, pods } = stage()
    const [one, two] = [group('one'), group('two')]
    expect(room.reserve(one)).toBe(true)
    expect(room.reserve(two)).toBe(false)
    expect(room.reserve(one)).toBe(true)
    // Now it does: the Pods may be placed, then they are, then they are gone.
    for (const { metadata } of one) pods.put(pod(metadata.name))
    expect(room.lack(two)).toBeDefined()
    for (const [index, member] of one.entries()) pods.put(pod(member.metadata.name, { nodeName: index ? 'b' : 'a' }))
    expect(room.lack(two)).toBeDefined()
    for (const { metadata } of one) pods.remove(metadata)
    expect(room.reserve(two)).toBe(true)
  })

  it('comes back when nobody makes use of it', async () => {
    const { room, group, clock } = stage()
    const [one, two] = [group('one'), group('two')]
    expect(room.reserve(one)).toBe(true)
    await clock.advance(29_000)
    expect(room.reserve(two)).toBe(false)
    await clock.advance(1_000)
    expect(room.reserve(two)).toBe(true)
  })

  it('is taken by Pods of others that wait and will find it first', () => {
    const { room, group, pods } = stage()
    const members = group('g')
    pods.put(pod('waiting', { cards: 4 }))
    expect(room.lack(members)).toBeDefined()
    // One that fits nowhere is in nobody's way.
    pods.put(pod('waiting', { cards: 64 }))
    expect(room.lack(members)).toBeUndefined()
  })
})
