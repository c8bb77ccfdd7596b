import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import { Informer } from '../cluster/informer.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { eventKind } from '../resources/event.ts'
import { engineKeyId, engineKeyIn, engineKeysName } from '../resources/engine-keys.ts'
import { drainingAnnotation } from '../resources/model-labels.ts'
import { type Model, modelKind } from '../resources/model.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { type Secret, secretKind } from '../resources/secret.ts'
import { StatusError } from '../resources/status-error.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ModelController, type ModelControllerOptions } from './model-controller.ts'
import type { FileState } from './operator-facts.ts'
import { builtInProfiles } from './resource-profile.ts'

const namespace = 'sluice'
const ref = { namespace, name: 'm' }

describe('ModelController', () => {
  let clock: FakeClock
  let client: EmbeddedClient
  let stopping: AbortController
  let running: Array<Promise<void>>
  let files: FileState
  let busy: Record<string, number>
  let statusWrites: number

  beforeEach(async () => {
    clock = new FakeClock()
    client = new EmbeddedClient(
      new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock }),
    )
    stopping = new AbortController()
    running = []
    files = { state: 'present' }
    busy = {}
    statusWrites = 0
    await client.create(namespaceKind, { metadata: { name: namespace } })
  })

  afterEach(async () => {
    stopping.abort()
    await Promise.all(running)
  })

  async function start(options: Partial<ModelControllerOptions> = {}): Promise<ModelController> {
    const parts = { client, clock, log: silentLogger }
    const models = new Informer({ ...parts, kind: modelKind })
    const pods = new Informer({ ...parts, kind: podKind })
    const secrets = new Informer({ ...parts, kind: secretKind, scope: { namespace } })
    running.push(models.run(stopping.signal), pods.run(stopping.signal), secrets.run(stopping.signal))
    await Promise.all([models.whenSynced(), pods.whenSynced(), secrets.whenSynced()])
    const controller = new ModelController({
      ...parts,
      models,
      pods,
      secrets,
      events: new EventRecorder({ ...parts, component: 'operator' }),
      files: { check: () => files },
      registry: () => 'registry.local-1.localhost',
      version: '0.1.0',
      profiles: () => ({ table: builtInProfiles, cardKinds: ['nvidia.com/gpu-l40s'] }),
      busy: (name) => busy[name] ?? 0,
      ...options,
    })
    running.push(controller.run(stopping.signal))
    await clock.advance(0)
    return controller
  }

  const createModel = (spec: Record<string, unknown> = {}) =>
    client.create(modelKind, {
      metadata: ref,
      spec: { url: 'pvc://userdata/models/smol', engine: 'LlamaCpp', maxReplicas: 3, ...spec },
    })
  const status = async () => (await client.get(modelKind, ref))?.status
  const pods = async () => (await client.list(podKind, { namespace })).items
  const events = async () => (await client.list(eventKind, { namespace })).items.map(({ reason }) => reason)

  /** As the node would: bound, running, ready. */
  async function makeReady(pod: Pod): Promise<void> {
    const bound = await client.patch(podKind, { namespace, name: pod.metadata.name }, { spec: { nodeName: 'n' } })
    const conditions = [{ type: 'Ready' as const, status: 'True' as const }]
    await client.updateStatus(podKind, { ...bound, status: { phase: 'Running', podIP: '127.64.0.1', conditions } })
    await clock.advance(0)
  }

  const keysOf = async () => client.get(secretKind, { namespace, name: engineKeysName('m') })
  const keyOf = async (pod: Pod | undefined, secret?: Secret) =>
    pod && engineKeyIn(secret ?? (await keysOf()), engineKeyId(pod) ?? '')

  it('starts every engine with a key of its own, which only the cluster’s Secret tells', async () => {
    const model = await createModel({ minReplicas: 1 })
    await start()
    const [first] = await pods()
    const key = await keyOf(first)
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect(JSON.stringify(first)).not.toContain(key)
    expect((await keysOf())?.metadata.ownerReferences).toMatchObject([{ uid: model.metadata.uid, controller: true }])
    await makeReady(first!)
    await client.scale(modelKind, ref, 2)
    await clock.advance(0)
    const second = (await pods()).find(({ metadata }) => metadata.uid !== first?.metadata.uid)
    expect(await keyOf(second)).toMatch(/^[0-9a-f]{64}$/)
    expect(await keyOf(second)).not.toBe(key)
    // The first Pod keeps the key it was started with.
    expect(await keyOf(first)).toBe(key)
  })

  it('looks at its Models again when other cards come', async () => {
    const largestNode = new Map<string, number>()
    let tell = () => {}
    await createModel({ resourceProfile: 'nvidia.com/gpu-h800:2' })
    await start({
      profiles: () => ({ table: builtInProfiles, cardKinds: [...largestNode.keys()], largestNode }),
      onProfilesChange: (callback) => {
        tell = callback
        return () => {}
      },
    })
    expect((await client.get(modelKind, ref))?.status).toMatchObject({ phase: 'Failed' })
    largestNode.set('nvidia.com/gpu-h800', 2)
    tell()
    await clock.advance(0)
    expect((await client.get(modelKind, ref))?.status).toMatchObject({ phase: 'Asleep' })
  })

  it('finds the keys of running engines again after a restart, and makes none anew for them', async () => {
    await createModel({ minReplicas: 1 })
    await start()
    const [pod] = await pods()
    await makeReady(pod!)
    const before = await keyOf(pod)
    stopping.abort()
    await Promise.all(running)
    stopping = new AbortController()
    running = []
    await start()
    await clock.advance(60_000)
    expect((await pods()).map(({ metadata }) => metadata.uid)).toEqual([pod?.metadata.uid])
    expect(await keyOf(pod)).toBe(before)
  })

  it('does not take keys over from a Model of the same name that is gone', async () => {
    const theirs = Buffer.from('k'.repeat(43)).toString('base64')
    await client.create(secretKind, {
      metadata: { namespace, name: engineKeysName('m'), labels: { 'sluice.dev/model': 'm' } },
      type: 'sluice.dev/engine-keys',
      data: { 'key-1': theirs },
    })
    await createModel({ minReplicas: 1 })
    await start()
    expect(await keyOf((await pods())[0])).toMatch(/^[0-9a-f]{64}$/)
    expect(Object.values((await keysOf())?.data ?? {})).not.toContain(theirs)
  })

  it('starts no engine without a key: a Secret in its place stays, and the Model says why', async () => {
    await client.create(secretKind, { metadata: { namespace, name: engineKeysName('m') }, data: { mine: 'eA==' } })
    await createModel({ minReplicas: 1 })
    await start()
    expect(await pods()).toEqual([])
    expect((await status())?.message).toContain('model-m-keys')
    expect((await keysOf())?.data).toEqual({ mine: 'eA==' })
  })

  it('leaves a Model alone that brings its own key', async () => {
    await createModel({ minReplicas: 1, args: ['--api-key', 'own'] })
    await start()
    const [pod] = await pods()
    expect(pod && engineKeyId(pod)).toBeUndefined()
    expect(await keysOf()).toBeUndefined()
  })

  it('takes a Model from asleep to ready and back to asleep', async () => {
    await createModel()
    await start()
    expect(await status()).toMatchObject({ phase: 'Asleep', replicas: 0, readyReplicas: 0 })

    await client.scale(modelKind, ref, 1)
    await clock.advance(0)
    const [pod] = await pods()
    expect(pod?.metadata.name).toMatch(/^model-m-/)
    expect(await status()).toMatchObject({ phase: 'Waking' })

    await makeReady(pod!)
    expect(await status()).toMatchObject({ phase: 'Ready', readyReplicas: 1, message: '1 of 1 Pods ready.' })

    busy[pod!.metadata.name] = 1
    await client.scale(modelKind, ref, 0)
    await clock.advance(60_000)
    const [draining] = await pods()
    expect(draining?.metadata.annotations?.[drainingAnnotation]).toBeDefined()
    expect(draining?.metadata.deletionTimestamp).toBeUndefined()
    expect(await status()).toMatchObject({ phase: 'Draining', readyReplicas: 0 })

    busy[pod!.metadata.name] = 0
    await clock.advance(1_000)
    expect((await pods())[0]?.metadata.deletionTimestamp).toBeDefined()
    await client.delete(podKind, { namespace, name: pod!.metadata.name }, { graceSeconds: 0 })
    await clock.advance(0)
    expect(await status()).toMatchObject({ phase: 'Asleep', replicas: 0 })
    expect(await events()).toEqual(
      expect.arrayContaining(['PodCreated', 'Waking', 'Ready', 'Draining', 'PodDeleted', 'Asleep']),
    )
  })

  it('makes the Pod of a Model that is being woken before that is written, and no second one after', async () => {
    await createModel()
    const controller = await start({ podNewsMs: 20 })
    controller.foresee({ model: ref, replicas: 1 })
    await clock.advance(0)
    expect((await client.get(modelKind, ref))?.spec.replicas ?? 0).toBe(0)
    const [early] = await pods()
    expect(early?.metadata.name).toMatch(/^model-m-/)
    await client.scale(modelKind, ref, 1)
    await clock.advance(1_000)
    expect((await pods()).map(({ metadata }) => metadata.name)).toEqual([early?.metadata.name])
    expect(await status()).toMatchObject({ phase: 'Waking', replicas: 1 })
  })

  it('takes back the Pod that it made for a wake that came to nothing', async () => {
    await createModel()
    const controller = await start({ podNewsMs: 20 })
    const takeBack = controller.foresee({ model: ref, replicas: 1 })
    await clock.advance(1000)
    expect(await pods()).toHaveLength(1)
    takeBack()
    await clock.advance(0)
    expect(await pods()).toEqual([])
    expect(await status()).toMatchObject({ phase: 'Asleep', replicas: 0 })
  })

  it('recalls the draining Pod when a request comes back in time', async () => {
    await createModel({ replicas: 1 })
    await start()
    const [pod] = await pods()
    await makeReady(pod!)
    busy[pod!.metadata.name] = 1
    await client.scale(modelKind, ref, 0)
    await clock.advance(2_000)
    await client.scale(modelKind, ref, 1)
    await clock.advance(0)
    const all = await pods()
    expect(all).toHaveLength(1)
    expect(all[0]?.metadata.annotations?.[drainingAnnotation]).toBeUndefined()
    expect(await status()).toMatchObject({ phase: 'Ready' })
    expect(await events()).toContain('Recalled')
  })

  it('waits for missing files without creating a Pod, and goes on when they arrive', async () => {
    files = { state: 'missing', message: 'Nothing at pvc://userdata/models/smol.' }
    await createModel({ replicas: 1 })
    await start()
    expect(await pods()).toEqual([])
    expect(await status()).toMatchObject({ phase: 'Failed', message: 'Nothing at pvc://userdata/models/smol.' })
    files = { state: 'missing', message: 'Being pulled: 40 %.', pending: true }
    await clock.advance(2_000)
    expect(await status()).toMatchObject({ phase: 'Waking', message: 'Being pulled: 40 %.' })
    files = { state: 'present' }
    await clock.advance(2_000)
    expect(await pods()).toHaveLength(1)
  })

  it('never creates a Pod twice, though its caches show nothing new', async () => {
    await createModel({ replicas: 2 })
    const model = await client.get(modelKind, ref)
    const frozen = <T>(...items: T[]) => ({
      synced: true,
      get: () => items[0],
      list: () => items,
      onChange: (listener: (change: { type: 'updated'; object: T }) => void) => {
        const timers = [100, 200, 300].map((ms) =>
          clock.after(ms, () => items.forEach((object) => listener({ type: 'updated', object }))),
        )
        return () => timers.forEach((cancel) => cancel())
      },
    })
    await start({ models: frozen<Model>(model!), pods: frozen<Pod>() })
    await clock.advance(2_000)
    expect(await pods()).toHaveLength(2)
  })

  it('writes the status only when it changes', async () => {
    const updateStatus = client.updateStatus.bind(client)
    client.updateStatus = (kind, object) => {
      if (kind.kind === 'Model') statusWrites++
      return updateStatus(kind, object)
    }
    files = { state: 'missing', message: 'Nothing there.' }
    await createModel({ replicas: 1 })
    await start()
    await clock.advance(60_000)
    expect(statusWrites).toBe(1)
  })

  it('says what the cluster refused and tries again', async () => {
    const create = client.create.bind(client)
    let refusing = true
    client.create = (kind, object) =>
      refusing && kind.kind === 'Pod'
        ? Promise.reject(new StatusError('Forbidden', 'pods "x" is forbidden: exceeded quota'))
        : create(kind, object)
    await createModel({ replicas: 1 })
    await start()
    expect(await status()).toMatchObject({ phase: 'Failed', message: expect.stringContaining('exceeded quota') })
    refusing = false
    await clock.advance(30_000)
    expect(await pods()).toHaveLength(1)
    expect(await status()).toMatchObject({ phase: 'Waking' })
  })

  it('rolls a changed spec: the new Pod is ready before the old one goes', async () => {
    await createModel({ replicas: 1 })
    await start()
    const [old] = await pods()
    await makeReady(old!)
    await client.patch(modelKind, ref, { spec: { args: ['--max-model-len', '512'] } })
    await clock.advance(5_000)
    const both = await pods()
    expect(both).toHaveLength(2)
    expect(both.every(({ metadata }) => metadata.annotations?.[drainingAnnotation] === undefined)).toBe(true)
    const fresh = both.find(({ metadata }) => metadata.name !== old!.metadata.name)
    await makeReady(fresh!)
    await clock.advance(2_000)
    const left = (await pods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    expect(left.map(({ metadata }) => metadata.name)).toEqual([fresh!.metadata.name])
    expect(await status()).toMatchObject({ phase: 'Ready', readyReplicas: 1 })
  })

  it('leaves a Model that is being deleted to the garbage collector', async () => {
    await client.create(modelKind, {
      metadata: { ...ref, finalizers: ['test/hold'] },
      spec: { url: 'pvc://userdata/models/smol', engine: 'LlamaCpp', minReplicas: 1 },
    })
    await client.delete(modelKind, ref)
    await start()
    await clock.advance(5_000)
    expect(await pods()).toEqual([])
  })

  it('a Model whose Pods are refused for ever is tried twice a minute, and says why', async () => {
    let tries = 0
    const refusing = new Proxy(client, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (property === 'updateStatus') statusWrites += 1
          if (property === 'create' && args[0] === podKind) {
            return Promise.reject(new StatusError('Forbidden', `exceeded quota, try ${(tries += 1)}`))
          }
          return Reflect.apply(value, target, args) as unknown
        }
      },
    })
    await createModel({ replicas: 1, minReplicas: 1 })
    await start({ client: refusing })
    await clock.advance(10 * 60_000)
    expect(tries).toBeGreaterThan(10)
    // Each attempt reports something else, so each is written, and that wakes the controller once more.
    expect(tries).toBeLessThan(60)
    expect(statusWrites).toBeLessThan(60)
    expect((await status())?.message).toContain('exceeded quota')
    expect((await events()).length).toBeLessThan(15)
  })

  it('a Model of which nothing can be written is tried ever less often', async () => {
    let tries = 0
    const refusing = new Proxy(client, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (property !== 'create' || args[0] !== podKind) return Reflect.apply(value, target, args) as unknown
          return Promise.reject(new StatusError('InternalError', `try ${(tries += 1)}`))
        }
      },
    })
    await createModel({ replicas: 1, minReplicas: 1 })
    await start({ client: refusing })
    await clock.advance(10 * 60_000)
    expect(tries).toBeGreaterThan(15)
    expect(tries).toBeLessThan(40)
  })
})
