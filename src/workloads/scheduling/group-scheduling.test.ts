import { afterEach, beforeEach, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { Informer } from '../../cluster/informer.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { nodeKind } from '../../resources/node.ts'
import { persistentVolumeClaimKind } from '../../resources/persistent-volume-claim.ts'
import { podKind } from '../../resources/pod.ts'
import { groupGate, groupLabel, groupRankLabel, groupSizeAnnotation } from '../../resources/serving-group.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { Scheduler } from './scheduler.ts'

const card = 'nvidia.com/gpu-h800'
const namespace = 'default'
const stopping = { controller: new AbortController(), running: [] as Array<Promise<void>> }
let clock: FakeClock
let client: EmbeddedClient

const addNode = (name: string, cards: number) => {
  const allocatable = { cpu: '4', memory: '8Gi', pods: '110', [card]: String(cards) }
  const conditions = [{ type: 'Ready', status: 'True' as const }]
  return client.create(nodeKind, { metadata: { name }, status: { allocatable, conditions } })
}

beforeEach(async () => {
  clock = new FakeClock()
  client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock }))
  stopping.controller = new AbortController()
  const { signal } = stopping.controller
  await client.create(namespaceKind, { metadata: { name: namespace } })
  await addNode('a', 8)
  const parts = { client, clock, log: silentLogger }
  const pods = new Informer({ ...parts, kind: podKind })
  const nodes = new Informer({ ...parts, kind: nodeKind })
  const claims = new Informer({ ...parts, kind: persistentVolumeClaimKind })
  const scheduler = new Scheduler({ ...parts, pods, nodes, claims, events: { record: () => {} } })
  stopping.running = [pods.run(signal), nodes.run(signal), claims.run(signal), scheduler.run(signal)]
  await Promise.all([pods.whenSynced(), nodes.whenSynced(), claims.whenSynced()])
})

afterEach(async () => {
  stopping.controller.abort()
  await Promise.all(stopping.running)
})

interface Member {
  readonly group: string
  readonly rank: number
  readonly size?: number
  readonly cards?: number
  readonly gated?: boolean
}

const create = ({ group, rank, size = 2, cards = 8, gated = false }: Member) =>
  client.create(podKind, {
    metadata: {
      name: `${group}-${rank}`,
      namespace,
      labels: { [groupLabel]: group, [groupRankLabel]: String(rank) },
      annotations: { [groupSizeAnnotation]: String(size) },
    },
    spec: {
      containers: [{ name: 'engine', image: 'i', resources: { limits: { [card]: String(cards) } } }],
      ...(gated && { schedulingGates: [{ name: groupGate }] }),
    },
  })

const lift = (name: string) => client.patch(podKind, { namespace, name }, { spec: { schedulingGates: null } })

const places = async () => {
  const { items } = await client.list(podKind, { namespace })
  return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec.nodeName]))
}

const toldTo = async (name: string) =>
  (await client.get(podKind, { namespace, name }))?.status?.conditions?.find(({ type }) => type === 'PodScheduled')
    ?.message

it('places nobody of a group without room for all, and all of it when room comes', async () => {
  await create({ group: 'g', rank: 0 })
  await create({ group: 'g', rank: 1 })
  await clock.advance(0)
  expect(await places()).toEqual({ 'g-0': undefined, 'g-1': undefined })
  expect(await toldTo('g-0')).toBe(`1 of 2 Pods of the group fit: 0/1 nodes are available: 1 Insufficient ${card}.`)
  await addNode('b', 8)
  await clock.advance(0)
  expect(new Set(Object.values(await places()))).toEqual(new Set(['a', 'b']))
})

it('waits for members that are not there yet, and takes no card for those that are', async () => {
  await create({ group: 'g', rank: 0, cards: 4 })
  await clock.advance(0)
  expect(await toldTo('g-0')).toBe('waiting for its group: 1 of 2 Pods can be placed.')
  await create({ group: 'alone', rank: 0, size: 1, cards: 8 })
  await clock.advance(0)
  expect(await places()).toEqual({ 'g-0': undefined, 'alone-0': 'a' })
})

it('leaves Pods with gates alone until the last gate is lifted', async () => {
  await create({ group: 'g', rank: 0, cards: 4, gated: true })
  await create({ group: 'g', rank: 1, cards: 4, gated: true })
  await clock.advance(0)
  await lift('g-1')
  await clock.advance(0)
  expect(await places()).toEqual({ 'g-0': undefined, 'g-1': undefined })
  expect(await toldTo('g-1')).toBe('waiting for its group: 1 of 2 Pods can be placed.')
  await lift('g-0')
  await clock.advance(0)
  expect(await places()).toEqual({ 'g-0': 'a', 'g-1': 'a' })
})

it('never gives two groups half of what each needs', async () => {
  await addNode('b', 8)
  await Promise.all([
    create({ group: 'one', rank: 0 }),
    create({ group: 'two', rank: 0 }),
    create({ group: 'two', rank: 1 }),
    create({ group: 'one', rank: 1 }),
  ])
  await clock.advance(0)
  const placed = await places()
  const byGroup = ['one', 'two'].map((group) => [0, 1].filter((rank) => placed[`${group}-${rank}`]).length)
  expect(new Set(byGroup)).toEqual(new Set([0, 2]))
})
