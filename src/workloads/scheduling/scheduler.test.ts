import { afterEach, beforeEach, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import type { Foresee } from '../../cluster/foreseen.ts'
import { Informer } from '../../cluster/informer.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { nodeKind } from '../../resources/node.ts'
import { persistentVolumeClaimKind } from '../../resources/persistent-volume-claim.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { PodForesight } from '../../platform/wake-foresight.ts'
import { Scheduler } from './scheduler.ts'

const stopping = { controller: new AbortController(), running: [] as Array<Promise<void>> }
const told: string[] = []
const api: { foreseen: Foresee<Pod> } = { foreseen: () => undefined }
let clock: FakeClock
let client: EmbeddedClient
let scheduler: Scheduler

beforeEach(async () => {
  clock = new FakeClock()
  api.foreseen = () => undefined
  const plugins = [new PodForesight((pod) => api.foreseen(pod))]
  client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock, plugins }))
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
  const claims = new Informer({ ...parts, kind: persistentVolumeClaimKind })
  scheduler = new Scheduler({
    ...parts,
    pods,
    nodes,
    claims,
    events: { record: () => {} },
    foresee: ({ metadata, spec }) => {
      told.push(`${metadata.name} to ${spec.nodeName}`)
      return () => void told.push(`${metadata.name} stays`)
    },
  })
  stopping.running = [pods.run(signal), nodes.run(signal), claims.run(signal), scheduler.run(signal)]
  await Promise.all([pods.whenSynced(), nodes.whenSynced(), claims.whenSynced()])
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

const unwritten = (name: string, cpu: string, uid = 'u'): Pod => ({
  ...podKind.schema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid },
    spec: { containers: [{ name: 'main', image: 'i', resources: { requests: { cpu } } }] },
  }),
})

it('places a Pod that is all but written, and binds it where it said once it is there', async () => {
  api.foreseen = (pod) => scheduler.foresee(pod)
  await create('early', '1')
  expect(told).toEqual(['early to here'])
  await clock.advance(0)
  expect(told).toEqual(['early to here'])
  expect((await client.get(podKind, { namespace: 'default', name: 'early' }))?.spec.nodeName).toBe('here')
})

it('counts what it has foreseen, and forgets it when it is taken back', async () => {
  const takeBack = scheduler.foresee(unwritten('early', '3'))
  await create('other', '2')
  await clock.advance(0)
  expect(told).toEqual(['early to here'])
  takeBack?.()
  expect(told).toEqual(['early to here', 'early stays'])
  await create('next', '2')
  await clock.advance(0)
  expect(told).toContain('next to here')
  expect(scheduler.foresee(unwritten('large', '9'))).toBeUndefined()
})

it('takes back what it has foreseen of a Pod that somebody else has bound, or deleted', async () => {
  api.foreseen = (pod) => scheduler.foresee(pod)
  const patch = client.patch.bind(client)
  const bound = create('bound', '1').then(() =>
    patch(podKind, { namespace: 'default', name: 'bound' }, { spec: { nodeName: 'elsewhere' } }),
  )
  const deleted = create('deleted', '1').then(() =>
    client.delete(podKind, { namespace: 'default', name: 'deleted' }, { graceSeconds: 0 }),
  )
  await Promise.all([bound, deleted])
  await clock.advance(0)
  expect(told.toSorted()).toEqual(['bound stays', 'bound to here', 'deleted stays', 'deleted to here'])
})

it('lets a Pod wait for its claim, says so as Kubernetes does, and places it when the claim comes', async () => {
  const ref = { namespace: 'default', name: 'keeper' }
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]
  await client.create(podKind, { metadata: ref, spec: { containers: [{ name: 'main', image: 'i' }], volumes } })
  await clock.advance(0)
  const waiting = await client.get(podKind, ref)
  expect(waiting?.spec.nodeName).toBeUndefined()
  expect(waiting?.status?.conditions).toMatchObject([
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/1 nodes are available: persistentvolumeclaim "data" not found.',
    },
  ])
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await client.create(persistentVolumeClaimKind, { metadata: { namespace: 'default', name: 'data' }, spec })
  await clock.advance(0)
  expect((await client.get(podKind, ref))?.spec.nodeName).toBe('here')
})
