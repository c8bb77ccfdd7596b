import { expect, it, onTestFinished } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { refOf } from '../resources/kubernetes-object.ts'
import { type Model, modelKind } from '../resources/model.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { HeldObjects } from '../resources/object-cache.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { type Secret, secretKind } from '../resources/secret.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ModelController } from './model-controller.ts'
import { builtInProfiles } from './resource-profile.ts'

const namespace = 'sluice'
const ref = { namespace, name: 'm' }

async function stage() {
  const clock = new FakeClock()
  const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock })
  const client = new EmbeddedClient(api)
  const caches = {
    models: new HeldObjects<Model>(),
    pods: new HeldObjects<Pod>(),
    secrets: new HeldObjects<Secret>(),
  }
  for (const cache of Object.values(caches)) cache.synced = true
  const events: string[] = []
  await client.create(namespaceKind, { metadata: { name: namespace } })
  const spec = { url: 'pvc://userdata/models/smol', engine: 'LlamaCpp', minReplicas: 1, maxReplicas: 1 }
  await client.create(modelKind, { metadata: ref, spec })
  const controller = new ModelController({
    client,
    clock,
    log: silentLogger,
    ...caches,
    events: { record: (_about, type, reason) => void events.push(`${type} ${reason}`) },
    files: { check: () => ({ state: 'unknown' }) },
    registry: () => 'registry.local-1.localhost',
    version: '0.1.0',
    profiles: () => ({ table: builtInProfiles, cardKinds: ['nvidia.com/gpu-l40s'] }),
    busy: () => 0,
  })
  const stopping = new AbortController()
  const running = controller.run(stopping.signal)
  onTestFinished(async () => {
    stopping.abort()
    await running
  })

  const pods = async () => (await client.list(podKind, { namespace })).items
  /** The caches show what there is, and what the controller does then. */
  async function showAll(): Promise<void> {
    for (const model of (await client.list(modelKind)).items) caches.models.put(model)
    for (const secret of (await client.list(secretKind)).items) caches.secrets.put(secret)
    const there = await pods()
    const isGone = (pod: Pod) => !there.some(({ metadata }) => metadata.uid === pod.metadata.uid)
    for (const pod of caches.pods.list().filter(isGone)) caches.pods.remove(refOf(pod))
    for (const pod of there) caches.pods.put(pod)
    await clock.advance(1_000)
  }
  async function endEngine(exitCode: number): Promise<void> {
    const [pod] = await pods()
    if (!pod) throw new Error('there is no Pod')
    const terminated = { exitCode, message: 'there is no option --warp', reason: 'Error' }
    const about = { name: 'engine', image: 'i', imageID: 'i', ready: false, restartCount: 0, state: { terminated } }
    await client.updateStatus(podKind, { ...pod, status: { phase: 'Running', containerStatuses: [about] } })
    await showAll()
  }
  return { clock, client, events, pods, showAll, endEngine }
}

it('an engine that refuses its flags is tried once, until the Model changes or 5 minutes have passed', async () => {
  const { clock, client, events, pods, showAll, endEngine } = await stage()
  const phase = async () => (await client.get(modelKind, ref))?.status?.phase
  const settle = async () => {
    for (let round = 0; round < 4; round++) await showAll()
  }
  await settle()
  expect(await pods()).toHaveLength(1)

  await endEngine(2)
  await settle()
  expect([await pods(), await phase()]).toEqual([[], 'Failed'])
  await clock.advance(4 * 60_000)
  expect([await pods(), await phase()]).toEqual([[], 'Failed'])
  expect(events.filter((event) => event === 'Warning Failed')).toHaveLength(1)

  await client.patch(modelKind, ref, { spec: { args: ['--threads=1'] } })
  await settle()
  expect(await pods()).toHaveLength(1)

  await endEngine(2)
  await settle()
  expect(await pods()).toEqual([])
  await clock.advance(5 * 60_000)
  await settle()
  expect(await pods()).toHaveLength(1)
})
