import { afterEach, beforeEach, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { Informer } from '../../cluster/informer.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { type ReplicaSet, replicaSetKind } from '../../resources/replica-set.ts'
import { StatusError } from '../../resources/status-error.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { LateCache } from '../late-cache.fixture.ts'
import { OwnedObjects } from '../owned/owned-objects.ts'
import { template } from '../workload-objects.fixture.ts'
import { ReplicaSets } from './replica-sets.ts'

const namespace = 'default'
const soon = { timeout: 20_000, interval: 5 }

let client: EmbeddedClient
let cache: LateCache
let replicaSets: Informer<ReplicaSet>
let stopping: AbortController
let running: Promise<unknown>
let refuse = false
let controllerNow = () => Date.now()

beforeEach(async () => {
  const admit = () => {
    if (refuse) throw new StatusError('Forbidden', 'exceeded quota: pods=2')
  }
  client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: systemClock }))
  const create = client.create.bind(client)
  client.create = async (kind, object) => {
    if (kind.kind === 'Pod') admit()
    return create(kind, object)
  }
  await client.create(namespaceKind, { metadata: { name: namespace } })
  const options = { client, clock: systemClock, log: silentLogger }
  const pods = new Informer({ ...options, kind: podKind })
  cache = new LateCache(pods)
  replicaSets = new Informer({ ...options, kind: replicaSetKind })
  const ownedPods = new OwnedObjects<Pod>(cache)
  const ownedReplicaSets = new OwnedObjects(replicaSets)
  const events = { record: () => {} }
  const clock = { ...systemClock, now: () => controllerNow() }
  const caches = { replicaSets, ownedReplicaSets, pods: cache, ownedPods }
  const controller = new ReplicaSets({ ...options, ...caches, clock, events })
  stopping = new AbortController()
  running = Promise.all([pods, replicaSets, controller].map((each) => each.run(stopping.signal)))
  await Promise.all([pods.whenSynced(), replicaSets.whenSynced()])
})

afterEach(async () => {
  refuse = false
  controllerNow = () => Date.now()
  stopping.abort()
  await running
})

const create = (replicas: number, more: { minReadySeconds?: number } = {}) =>
  client.create(replicaSetKind, {
    metadata: { name: 'web', namespace },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: template(), ...more },
  })
const touch = (note: string) =>
  client.patch(replicaSetKind, { namespace, name: 'web' }, { metadata: { annotations: { note } } })
const count = async () => (await client.list(podKind, { namespace })).items.length
const status = async () => (await client.get(replicaSetKind, { namespace, name: 'web' }))?.status
const noted = (note: string) => () =>
  replicaSets.get({ namespace, name: 'web' })?.metadata.annotations?.['note'] === note

it('creates no Pod twice and deletes none twice while the cache is behind', async () => {
  await create(5)
  await expect.poll(() => cache.heldBack, soon).toBe(5)
  for (const note of ['a', 'b', 'c']) {
    await touch(note)
    await expect.poll(noted(note), soon).toBe(true)
  }
  expect(await count()).toBe(5)
  cache.catchUp()
  await expect.poll(async () => (await status())?.replicas, soon).toBe(5)
  cache.late = true
  await client.scale(replicaSetKind, { namespace, name: 'web' }, 3)
  await expect.poll(count, soon).toBe(3)
  await touch('d')
  await expect.poll(noted('d'), soon).toBe(true)
  expect(await count()).toBe(3)
  cache.catchUp()
  await expect.poll(async () => (await status())?.replicas, soon).toBe(3)
})

it('says why it cannot make Pods, and makes them when it can', async () => {
  cache.catchUp()
  refuse = true
  await create(3)
  await expect
    .poll(async () => (await status())?.conditions, soon)
    .toEqual([
      expect.objectContaining({
        type: 'ReplicaFailure',
        status: 'True',
        reason: 'FailedCreate',
        message: 'exceeded quota: pods=2',
      }),
    ])
  refuse = false
  await expect.poll(async () => (await status())?.replicas, soon).toBe(3)
  await expect.poll(async () => (await status())?.conditions, soon).toBeUndefined()
})

it.each([1, 2, 3, 4, 5, 6, 7, 8])('counts a Pod that becomes available after look %i at the clock', async (looks) => {
  cache.catchUp()
  await create(1, { minReadySeconds: 2 })
  await expect.poll(count, soon).toBe(1)
  const [pod] = (await client.list(podKind, { namespace })).items
  if (!pod) throw new Error('there is no Pod')
  const readyAt = Date.parse('2030-01-01T00:00:00Z')
  let looked = 0
  controllerNow = () => (looked++ < looks ? readyAt + 1_999 : readyAt + 2_000)
  const conditions = [{ type: 'Ready', status: 'True' as const, lastTransitionTime: '2030-01-01T00:00:00Z' }]
  await client.updateStatus(podKind, { ...pod, status: { phase: 'Running', conditions } })
  await expect.poll(async () => (await status())?.availableReplicas, soon).toBe(1)
})
