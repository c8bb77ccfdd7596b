import { describe, expect, it, onTestFinished } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import type { NewObject } from '../../cluster/cluster-client.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { Lifecycle } from '../../foundation/lifecycle.ts'
import { silentLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject, ObjectRef } from '../../resources/kubernetes-object.ts'
import { modelKind } from '../../resources/model.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { secretKind } from '../../resources/secret.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { JoinedDemand } from '../demand/joined-demand.ts'
import { Informers } from '../informers.ts'
import { ClusterCards } from '../models/cluster-cards.ts'
import { ledModels } from './led-models.ts'

const namespace = 'sluice'
const card = 'nvidia.com/gpu-l40s'
const waiting = { active: 0, waiting: 1, idleMs: 0, pods: {} }

/** A cluster that takes its time to write how many replicas a Model has; the test says when. */
class SlowScaleClient extends EmbeddedClient {
  readonly asked = Promise.withResolvers<void>()
  readonly answer = Promise.withResolvers<void>()
  /** If set, Pods are created when it resolves. */
  creating: Promise<void> | undefined
  readonly writes: string[] = []

  override async create<T extends KubernetesObject>(kind: Kind<T>, object: NewObject<T>): Promise<T> {
    if (kind.kind === 'Pod') await this.creating
    const created = await super.create(kind, object)
    if (kind.kind === 'Pod') this.writes.push('Pod')
    return created
  }

  override async scale(kind: Kind, ref: ObjectRef, replicas: number): Promise<void> {
    this.writes.push('replicas')
    this.asked.resolve()
    await this.answer.promise
    await super.scale(kind, ref, replicas)
  }
}

async function setUp() {
  const clock = new FakeClock()
  const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock })
  const client = new SlowScaleClient(api)
  await client.create(namespaceKind, { metadata: { name: namespace } })
  const log = silentLogger
  const informers = new Informers({ client, clock, log })
  const caches = {
    models: informers.add(modelKind, { namespace }),
    pods: informers.add(podKind),
    nodes: informers.add(nodeKind),
    secrets: informers.add(secretKind, { namespace }),
  }
  const demand = new JoinedDemand(() => clock.now())
  demand.expect(['gateway'], true)
  const components = ledModels({
    operator: {
      client,
      caches,
      cards: new ClusterCards({ own: new Map([['node', new Map([[card, 1]])]]), nodes: caches.nodes, table: {} }),
      files: { check: () => ({ state: 'unknown' }) },
      registry: () => 'registry.local-1.localhost',
      busy: (model, pod) => demand.busy(model, pod),
      clock,
      log,
    },
    autoscaler: {
      client,
      caches,
      demand,
      idleWindowMs: 600_000,
      cardPreemption: false,
      usageRetentionDays: 400,
      cardsOf: () => undefined,
      clock,
      log,
      metrics: new Metrics(),
    },
  })
  const lifecycle = new Lifecycle({ log, clock })
  for (const component of [informers, ...components]) lifecycle.add(component)
  await lifecycle.start()
  onTestFinished(() => {
    client.answer.resolve()
    return lifecycle.stop()
  })
  const spec = { url: 'pvc://userdata/models/tiny', engine: 'LlamaCpp', resourceProfile: `${card}:1` } as const
  await client.create(modelKind, { metadata: { name: 'tiny', namespace }, spec })
  await clock.advance(500)
  const pods = async () => (await client.list(podKind, { namespace })).items.map(({ metadata }) => metadata.name)
  const hear = () => demand.hear('gateway', { known: true, whole: true, models: { tiny: waiting }, gone: [] })
  const wake = async () => {
    hear()
    await client.asked.promise
  }
  /** The client who waits gives up. */
  const leave = () => demand.hear('gateway', { known: true, whole: true, models: {}, gone: [] })
  return { clock, client, pods, hear, wake, leave }
}

describe('a wake on another Kubernetes', () => {
  it('creates the Pod while the number of replicas is still being written', async () => {
    const { clock, pods, wake } = await setUp()
    await wake()
    await clock.advance(10)
    expect(await pods()).toHaveLength(1)
  })

  it('writes the number of replicas after the Pod, for which somebody waits', async () => {
    const { client, wake } = await setUp()
    await wake()
    expect(client.writes).toEqual(['Pod', 'replicas'])
  })

  it('does not wait for a Pod that takes long', async () => {
    const { clock, client, hear } = await setUp()
    const created = Promise.withResolvers<void>()
    client.creating = created.promise
    hear()
    await clock.advance(199)
    expect(client.writes).toEqual([])
    await clock.advance(1)
    expect(client.writes).toEqual(['replicas'])
    created.resolve()
    client.answer.resolve()
    await clock.advance(1_000)
    expect(client.writes).toEqual(['replicas', 'Pod'])
  })

  it('creates one Pod, however often the Model is looked at then', async () => {
    const { clock, client, pods, wake } = await setUp()
    await wake()
    await clock.advance(1_000)
    const before = await pods()
    client.answer.resolve()
    await clock.advance(5_000)
    expect(await pods()).toEqual(before)
    expect((await client.get(modelKind, { namespace, name: 'tiny' }))?.spec.replicas).toBe(1)
  })

  it('takes the Pod back when the cluster refuses the replicas', async () => {
    const { clock, client, pods, wake, leave } = await setUp()
    await wake()
    await clock.advance(10)
    expect(await pods()).toHaveLength(1)
    leave()
    client.answer.reject(new Error('refused'))
    await clock.advance(1_000)
    expect(await pods()).toEqual([])
  })
})
