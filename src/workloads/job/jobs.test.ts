import { afterEach, beforeEach, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { Informer } from '../../cluster/informer.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { jobKind } from '../../resources/job.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { LateCache } from '../late-cache.fixture.ts'
import { OwnedObjects } from '../owned/owned-objects.ts'
import { template } from '../workload-objects.fixture.ts'
import { Jobs } from './jobs.ts'

const namespace = 'default'
const soon = { timeout: 20_000, interval: 5 }

let client: EmbeddedClient
let cache: LateCache
let stopping: AbortController
let running: Promise<unknown>
let aheadMs = 0

beforeEach(async () => {
  client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: systemClock }))
  await client.create(namespaceKind, { metadata: { name: namespace } })
  const options = { client, clock: systemClock, log: silentLogger }
  const pods = new Informer({ ...options, kind: podKind })
  cache = new LateCache(pods)
  const jobs = new Informer({ ...options, kind: jobKind })
  const clock = { ...systemClock, now: () => Date.now() + aheadMs }
  const caches = { jobs, pods: cache, ownedPods: new OwnedObjects<Pod>(cache) }
  const controller = new Jobs({ ...options, ...caches, clock, events: { record: () => {} } })
  stopping = new AbortController()
  running = Promise.all([pods, jobs, controller].map((each) => each.run(stopping.signal)))
  await Promise.all([pods.whenSynced(), jobs.whenSynced()])
})

afterEach(async () => {
  aheadMs = 0
  stopping.abort()
  await running
})

it('does not end before it has seen every Pod that it made, so that none is left running', async () => {
  const { metadata, spec } = template()
  await client.create(jobKind, {
    metadata: { name: 'pi', namespace },
    spec: { activeDeadlineSeconds: 60, template: { metadata, spec: { ...spec, restartPolicy: 'Never' } } },
  })
  const conditions = async () =>
    (await client.get(jobKind, { namespace, name: 'pi' }))?.status?.conditions?.map(({ type }) => type)
  await expect.poll(() => cache.heldBack, soon).toBe(1)
  aheadMs = 61_000
  await client.patch(jobKind, { namespace, name: 'pi' }, { metadata: { annotations: { look: 'again' } } })
  await expect.poll(conditions, soon).toEqual(['FailureTarget'])
  cache.catchUp()
  await expect.poll(conditions, soon).toEqual(['FailureTarget', 'Failed'])
  expect((await client.list(podKind, { namespace })).items).toEqual([])
})
