import { beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { modelLabel } from '../../resources/model-labels.ts'
import { type Model, modelKind } from '../../resources/model.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { podKind } from '../../resources/pod.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { putToSleep } from './put-to-sleep.ts'

const namespace = 'sluice'
const never = new AbortController().signal

describe('putting Models to sleep', () => {
  let client: EmbeddedClient

  beforeEach(async () => {
    const kinds = [...coreKinds, ...customKinds]
    client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds, clock: new FakeClock() }))
    await client.create(namespaceKind, { metadata: { name: namespace } })
  })

  const addModel = (name: string): Promise<Model> =>
    client.create(modelKind, {
      metadata: { name, namespace },
      spec: { url: `pvc://userdata/${name}`, engine: 'LlamaCpp', replicas: 1 },
    })

  const addPod = (name: string, labels: Record<string, string>, owner?: Model, finalizers: string[] = []) => {
    const ownerReferences = owner && [
      {
        apiVersion: 'sluice.dev/v1',
        kind: 'Model',
        name: owner.metadata.name,
        uid: owner.metadata.uid ?? '',
        controller: true,
      },
    ]
    return client.create(podKind, {
      metadata: { name, namespace, labels, finalizers, ...(ownerReferences && { ownerReferences }) },
      spec: { containers: [{ name: 'engine', image: 'i' }] },
    })
  }

  const podNames = async () => (await client.list(podKind, { namespace })).items.map(({ metadata }) => metadata.name)
  const replicasOf = async (name: string) => (await client.get(modelKind, { namespace, name }))?.spec.replicas

  it('ends their Pods and asks for none, and leaves everything else', async () => {
    const [first, second] = [await addModel('first'), await addModel('second')]
    await addPod('a', { [modelLabel]: 'first' }, first)
    await addPod('b', { [modelLabel]: 'second' }, second)
    await addPod('mine', { [modelLabel]: 'first' })
    expect(await putToSleep(client, { models: new Set(['first']), afterControllers: false }, never)).toEqual(['first'])
    expect(await podNames()).toEqual(['b', 'mine'])
    expect([await replicasOf('first'), await replicasOf('second')]).toEqual([0, 1])
    expect(await putToSleep(client, { models: 'all', afterControllers: false }, never)).toEqual(['second'])
    expect(await podNames()).toEqual(['mine'])
    expect(await putToSleep(client, { models: 'all', afterControllers: false }, never)).toEqual([])
  })

  it('waits for controllers to be gone, which would start Pods anew', async () => {
    await addPod('a', { [modelLabel]: 'first' }, await addModel('first'))
    await addPod('controller', { 'sluice.dev/role': 'controller' })
    const asleep = putToSleep(client, { models: 'all', afterControllers: true }, never)
    await client.list(podKind, { namespace })
    expect(await podNames()).toEqual(['a', 'controller'])
    await client.delete(podKind, { namespace, name: 'controller' })
    expect(await asleep).toEqual(['first'])
  })

  it('names the Pods that do not end in time', async () => {
    await addPod('stuck', { [modelLabel]: 'first' }, await addModel('first'), ['example.com/held'])
    const stop = new AbortController()
    const asleep = putToSleep(client, { models: 'all', afterControllers: false }, stop.signal)
    const watched = client.watch(podKind, { namespace, resourceVersion: '0' }, AbortSignal.timeout(30_000))
    for await (const event of watched) {
      if (event.type === 'BOOKMARK' || event.object.metadata.deletionTimestamp === undefined) continue
      setImmediate(() => stop.abort())
      break
    }
    await expect(asleep).rejects.toMatchObject({
      code: 'pods_do_not_end',
      message: expect.stringContaining('stuck') as unknown,
    })
  })
})
