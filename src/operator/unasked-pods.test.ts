import { afterEach, beforeEach, describe, expect, it } from 'vitest'
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

describe('the operator of another cluster', () => {
  let clock: FakeClock
  let client: EmbeddedClient
  let stopping: AbortController
  let running: Array<Promise<void>>
  /** What it asked about Pods and Models, apart from what it wrote. */
  let looks: string[]
  let failNextCreate: 'before' | 'after' | undefined
  /** They show what a test lets them show. */
  let caches: { models: HeldObjects<Model>; pods: HeldObjects<Pod>; secrets: HeldObjects<Secret> }

  beforeEach(async () => {
    clock = new FakeClock()
    client = new EmbeddedClient(
      new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock }),
    )
    stopping = new AbortController()
    running = []
    looks = []
    failNextCreate = undefined
    caches = { models: new HeldObjects(), pods: new HeldObjects(), secrets: new HeldObjects() }
    for (const cache of Object.values(caches)) cache.synced = true
    await client.create(namespaceKind, { metadata: { name: namespace } })
    const spec = { url: 'pvc://userdata/models/smol', engine: 'LlamaCpp', maxReplicas: 3, replicas: 0 }
    await client.create(modelKind, { metadata: ref, spec })
  })

  afterEach(async () => {
    stopping.abort()
    await Promise.all(running)
  })

  const podsThatExist = async () => (await client.list(podKind, { namespace })).items
  async function showAll(showsPods = true): Promise<void> {
    for (const model of (await client.list(modelKind)).items) caches.models.put(model)
    for (const secret of (await client.list(secretKind)).items) caches.secrets.put(secret)
    const pods = showsPods ? await podsThatExist() : []
    for (const pod of caches.pods.list()) {
      if (!pods.some(({ metadata }) => metadata.uid === pod.metadata.uid)) caches.pods.remove(refOf(pod))
    }
    for (const pod of pods) caches.pods.put(pod)
    await clock.advance(100)
  }

  /** The cluster, as it is seen over a network. */
  function remote(): EmbeddedClient {
    return new Proxy(client, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return async (...args: readonly unknown[]) => {
          const [kind] = args as [{ kind: string }]
          if (name === 'get' || name === 'list') looks.push(`${name} ${kind.kind}`)
          const fails = name === 'create' && kind.kind === 'Pod' ? failNextCreate : undefined
          if (fails !== undefined) failNextCreate = undefined
          if (fails === 'before') throw new Error('connection refused')
          const result: unknown = await Reflect.apply(value, target, args)
          if (fails === 'after') throw new Error('connection reset')
          return result
        }
      },
    })
  }

  async function start({ showsPods = true } = {}): Promise<ModelController> {
    const controller = new ModelController({
      client: remote(),
      clock,
      log: silentLogger,
      ...caches,
      events: { record: () => {} },
      files: { check: () => ({ state: 'present' }) },
      registry: () => 'registry.local-1.localhost',
      version: '0.1.0',
      profiles: () => ({ table: builtInProfiles, cardKinds: ['nvidia.com/gpu-l40s'] }),
      busy: () => 0,
      isRemote: true,
    })
    running.push(controller.run(stopping.signal))
    await clock.advance(0)
    // Its first look writes the status and the key of the Model.
    await showAll(showsPods)
    await showAll(showsPods)
    looks = []
    return controller
  }

  const wake = async (controller: ModelController, replicas = 1) => {
    controller.foresee({ model: ref, replicas })
    await clock.advance(0)
  }

  it('creates the Pod that somebody waits for without a look at the cluster', async () => {
    await wake(await start())
    expect(await podsThatExist()).toHaveLength(1)
    expect(looks).toEqual([])
  })

  it('looks while the cache does not show what it has created, and creates it once', async () => {
    const controller = await start()
    await wake(controller)
    await wake(controller, 2)
    expect(looks).toContain('list Pod')
    expect(await podsThatExist()).toHaveLength(2)
    await showAll()
    looks = []
    await wake(controller, 3)
    expect(looks).toEqual([])
    expect(await podsThatExist()).toHaveLength(3)
  })

  it.each(['before', 'after'] as const)('looks after a creation that failed %s it was carried out', async (when) => {
    const controller = await start()
    failNextCreate = when
    await wake(controller)
    expect(looks).toEqual([])
    await wake(controller)
    expect(looks).toContain('list Pod')
    expect(await podsThatExist()).toHaveLength(1)
  })

  it('looks while the cache does not show what there was when it began', async () => {
    await wake(await start())
    stopping.abort()
    stopping = new AbortController()
    const next = await start({ showsPods: false })
    await wake(next)
    expect(looks).toContain('list Pod')
    expect(await podsThatExist()).toHaveLength(1)
  })
})
