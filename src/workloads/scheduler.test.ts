import { afterEach, beforeEach, expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { Informer } from '../cluster/informer.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds } from '../resources/all-kinds.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { nodeKind } from '../resources/node.ts'
import { podKind } from '../resources/pod.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { Scheduler } from './scheduler.ts'

const stopping = { controller: new AbortController(), running: [] as Array<Promise<void>> }
const told: string[] = []
let clock: FakeClock
let client: EmbeddedClient

beforeEach(async () => {
  clock = new FakeClock()
  client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock }))
  stopping.controller = new AbortController()
  told.length = 0
  const { signal } = stopping.controller
  await client.create(namespaceKind, { metadata: { name: 'default' } })
  const allocatable = { cpu: '4', memory: '8Gi', pods: '110' }
  const conditions = [{ type: 'Ready', status: 'True' as const }]
  await client.create(nodeKind, { metadata: { name: 'here' }, status: { allocatable, conditions } })
  const parts = { client, clock, log: silentLogger }
  const pods = new Informer({ ...parts, kind: podKind })
  const nodes = new Informer({ ...parts, kind: nodeKind })
  const scheduler = new Scheduler({
    ...parts,
    pods,
    nodes,
    events: { record: () => {} },
    foresee: ({ metadata, spec }) => {
      told.push(`${metadata.name} to ${spec.nodeName}`)
      return () => void told.push(`${metadata.name} stays`)
    },
  })
  stopping.running = [pods.run(signal), nodes.run(signal), scheduler.run(signal)]
  await Promise.all([pods.whenSynced(), nodes.whenSynced()])
})

afterEach(async () => {
  stopping.controller.abort()
  await Promise.all(stopping.running)
})

const create = (name: string, cpu: string) => {
  const containers = [{ name: 'main', image: 'i', resources: { requests: { cpu } } }]
  return client.create(podKind, { metadata: { name, namespace: 'default' }, spec: { containers } })
}

it('tells of a placement before it is written, and only of placements', async () => {
  await create('fits', '1')
  await create('large', '9')
  await clock.advance(0)
  expect(told).toEqual(['fits to here'])
  expect((await client.get(podKind, { namespace: 'default', name: 'fits' }))?.spec.nodeName).toBe('here')
})

it('takes back what it told when the placement is refused', async () => {
  const patch = client.patch.bind(client)
  client.patch = async (kind, ref, change) => {
    await client.delete(podKind, { namespace: 'default', name: 'fits' }, { graceSeconds: 0 })
    return patch(kind, ref, change)
  }
  await create('fits', '1')
  await clock.advance(0)
  expect(told).toEqual(['fits to here', 'fits stays'])
})
