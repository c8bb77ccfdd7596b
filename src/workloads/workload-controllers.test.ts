import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { configMapKind } from '../resources/config-map.ts'
import { customResourceDefinitionKind } from '../resources/custom-resource-definition-kind.ts'
import { endpointSliceKind } from '../resources/endpoint-slice.ts'
import { eventKind } from '../resources/event.ts'
import type { Kind } from '../resources/kind.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { nodeKind } from '../resources/node.ts'
import { podKind } from '../resources/pod.ts'
import { serviceKind } from '../resources/service.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { fateOf } from './garbage/owner-states.ts'
import { WorkloadControllers } from './workload-controllers.ts'

const never = new AbortController().signal
const card = 'nvidia.com/gpu-l40s'
const namespace = 'default'

let client: EmbeddedClient
let controllers: WorkloadControllers

beforeEach(async () => {
  const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock: systemClock })
  client = new EmbeddedClient(api)
  const finalizeNamespace = (name: string) => client.finalizeNamespace(name)
  await client.create(namespaceKind, { metadata: { name: namespace } })
  controllers = new WorkloadControllers({
    client,
    finalizeNamespace,
    servedKinds: () => client.servedKinds(),
    finishedPodLimit: 2,
    clock: systemClock,
    log: silentLogger,
  })
  await controllers.start(never)
})

afterEach(() => controllers.stop())

const soon = { timeout: 20_000, interval: 10 }
const exists = async (kind: Kind, name: string, where: string | undefined = namespace) =>
  (await client.get(kind, { ...(kind.namespaced && { namespace: where }), name })) !== undefined
const pod = async (name: string) => client.get(podKind, { namespace, name })

function createNode(cards: number) {
  const allocatable = { cpu: '4', memory: '8Gi', pods: '10', [card]: String(cards) }
  const status = { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] }
  return client.create(nodeKind, { metadata: { name: 'here' }, status })
}

function createPod(name: string, cards: number, metadata: Record<string, unknown> = {}) {
  const resources = { limits: { [card]: String(cards) } }
  const spec = { containers: [{ name: 'main', image: 'i', resources, ports: [{ name: 'http', containerPort: 8000 }] }] }
  return client.create(podKind, { metadata: { name, namespace, ...metadata }, spec })
}

const createConfigMap = (name: string, owner?: { name: string; uid?: string | undefined }, extra: object = {}) =>
  client.create(configMapKind, {
    metadata: {
      name,
      namespace,
      ...(owner && {
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner.name, uid: owner.uid ?? '', ...extra }],
      }),
    },
  })

describe('the scheduler', () => {
  it('binds a Pod that fits', async () => {
    await createNode(2)
    await createPod('a', 1)
    await expect.poll(async () => (await pod('a'))?.spec.nodeName, soon).toBe('here')
  })

  it('says what is missing, and places the Pod when room appears: not before the old one is gone', async () => {
    await createNode(1)
    await createPod('a', 1)
    await expect.poll(async () => (await pod('a'))?.spec.nodeName, soon).toBe('here')
    await createPod('b', 1)
    const message = `0/1 nodes are available: 1 Insufficient ${card}.`
    await expect
      .poll(async () => (await pod('b'))?.status?.conditions, soon)
      .toEqual([expect.objectContaining({ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message })])
    const events = async () => (await client.list(eventKind, { namespace })).items.map(({ reason }) => reason)
    await expect.poll(events, soon).toContain('FailedScheduling')

    await client.delete(podKind, { namespace, name: 'a' })
    expect((await pod('a'))?.metadata.deletionTimestamp).toBeDefined()
    // Something else happens meanwhile, so that there is a chance to place it wrongly.
    await client.patch(nodeKind, { name: 'here' }, { metadata: { labels: { seen: 'yes' } } })
    await createPod('tiny', 0)
    await expect.poll(async () => (await pod('tiny'))?.spec.nodeName, soon).toBe('here')
    expect((await pod('b'))?.spec.nodeName).toBeUndefined()
    await client.delete(podKind, { namespace, name: 'a' }, { graceSeconds: 0 })
    await expect.poll(async () => (await pod('b'))?.spec.nodeName, soon).toBe('here')
  })

  it('never gives out more cards than there are, however many ask at once', async () => {
    await createNode(3)
    await Promise.all(Array.from({ length: 8 }, (_, index) => createPod(`p${index}`, 1)))
    const bound = async () =>
      (await client.list(podKind, { namespace })).items.filter(({ spec }) => spec.nodeName === 'here').length
    await expect.poll(bound, soon).toBe(3)
    const explained = async () =>
      (await client.list(podKind, { namespace })).items.filter(({ status }) => (status?.conditions ?? []).length > 0)
        .length
    await expect.poll(explained, soon).toBe(5)
    expect(await bound()).toBe(3)
  })
})

describe('taints that drive Pods away', () => {
  const createTolerant = (name: string, tolerations: readonly object[]) =>
    client.create(podKind, {
      metadata: { name, namespace },
      spec: { nodeName: 'here', containers: [{ name: 'main', image: 'i' }], tolerations },
    })
  const taint = (taints: readonly object[]) => client.patch(nodeKind, { name: 'here' }, { spec: { taints } })
  const isLeaving = async (name: string) => (await pod(name))?.metadata.deletionTimestamp !== undefined

  it('take those that do not tolerate them, or not for longer, and tell of it', async () => {
    await createNode(1)
    await createTolerant('none', [])
    await createTolerant('over', [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 }])
    await createTolerant('hour', [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3600 }])
    await createTolerant('ever', [{ key: 'k', operator: 'Exists' }])
    await taint([{ key: 'k', value: 'v', effect: 'NoExecute' }])
    await expect.poll(() => isLeaving('none'), soon).toBe(true)
    await expect.poll(() => isLeaving('over'), soon).toBe(true)
    expect((await pod('none'))?.status?.conditions).toMatchObject([
      { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' },
    ])
    expect([await isLeaving('hour'), await isLeaving('ever')]).toEqual([false, false])
    const events = async () => (await client.list(eventKind, { namespace })).items.map(({ reason }) => reason)
    await expect.poll(events, soon).toContain('TaintManagerEviction')
  })

  it('take those that come later, too, and no others', async () => {
    await createNode(1)
    await createTolerant('before', [{ key: 'k', operator: 'Equal', value: 'v', effect: 'NoExecute' }])
    await taint([
      { key: 'k', value: 'v', effect: 'NoExecute' },
      { key: 'other', effect: 'NoSchedule' },
    ])
    await createTolerant('after', [{ key: 'k', operator: 'Equal', value: 'w' }])
    await expect.poll(() => isLeaving('after'), soon).toBe(true)
    expect(await isLeaving('before')).toBe(false)
  })
})

describe('endpoint slices', () => {
  const slices = async () => (await client.list(endpointSliceKind, { namespace })).items
  const ports = [{ name: 'http', port: 80, targetPort: 'http' }]

  it('follow the Pods of a Service, and go with it', async () => {
    await client.create(serviceKind, {
      metadata: { name: 'web', namespace },
      spec: { selector: { app: 'web' }, ports },
    })
    await expect.poll(async () => (await slices()).map(({ endpoints }) => endpoints.length), soon).toEqual([0])
    const created = await createPod('a', 0, { labels: { app: 'web' } })
    const status = { phase: 'Running', podIP: '127.64.0.7', conditions: [{ type: 'Ready', status: 'True' }] } as const
    const { resourceVersion: _version, ...metadata } = created.metadata
    await client.updateStatus(podKind, {
      ...created,
      metadata,
      status: { ...status, conditions: [...status.conditions] },
    })
    await expect
      .poll(
        async () =>
          (await slices()).map(({ endpoints, ports: found }) => [
            endpoints[0]?.addresses,
            endpoints[0]?.conditions?.ready,
            found?.[0]?.port,
          ]),
        soon,
      )
      .toEqual([[['127.64.0.7'], true, 8000]])
    await client.delete(serviceKind, { namespace, name: 'web' })
    await expect.poll(slices, soon).toEqual([])
  })

  it('leave Services without a selector to others', async () => {
    await client.create(serviceKind, { metadata: { name: 'manual', namespace }, spec: { ports } })
    const metadata = { name: 'manual-1', namespace, labels: { 'kubernetes.io/service-name': 'manual' } }
    await client.create(endpointSliceKind, { metadata, addressType: 'IPv4', endpoints: [], ports: [] })
    await client.create(serviceKind, {
      metadata: { name: 'web', namespace },
      spec: { selector: { app: 'web' }, ports },
    })
    await expect.poll(async () => (await slices()).length, soon).toBe(2)
    expect(await exists(endpointSliceKind, 'manual-1')).toBe(true)
  })
})

describe('owner garbage', () => {
  it.each([
    [[], 'stays'],
    [['present'], 'stays'],
    [['unknown'], 'stays'],
    [['gone'], 'goes'],
    [['gone', 'present'], 'loses-references'],
    [['gone', 'unknown'], 'loses-references'],
    [['waiting', 'present'], 'loses-references'],
    [['waiting', 'gone'], 'goes'],
    [['gone', 'gone'], 'goes'],
  ] as const)('of owners %j: %s', (owners, expected) => {
    expect(fateOf(owners)).toBe(expected)
  })

  it('goes with its owner, through generations', async () => {
    const root = await createConfigMap('root')
    const child = await createConfigMap('child', { name: 'root', uid: root.metadata.uid })
    await createConfigMap('grandchild', { name: 'child', uid: child.metadata.uid })
    await createConfigMap('bystander')
    await client.delete(configMapKind, { namespace, name: 'root' })
    await expect.poll(() => exists(configMapKind, 'grandchild'), soon).toBe(false)
    expect(await exists(configMapKind, 'child')).toBe(false)
    expect(await exists(configMapKind, 'bystander')).toBe(true)
  })

  it('goes when its owner was replaced by a namesake, stays when the owner is of a kind nobody knows', async () => {
    await createConfigMap('root')
    await createConfigMap('stale', { name: 'root', uid: 'of-an-earlier-one' })
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web', uid: 'u' }
    await client.create(configMapKind, { metadata: { name: 'foreign', namespace, ownerReferences: [owner] } })
    await expect.poll(() => exists(configMapKind, 'stale'), soon).toBe(false)
    expect(await exists(configMapKind, 'foreign')).toBe(true)
  })

  it('goes first when its owner is deleted in the foreground', async () => {
    const root = await createConfigMap('root')
    const owner = { name: 'root', uid: root.metadata.uid }
    const held = await createConfigMap('child', owner, { blockOwnerDeletion: true })
    await client.patch(configMapKind, { namespace, name: 'child' }, { metadata: { finalizers: ['test/hold'] } })
    await client.delete(configMapKind, { namespace, name: 'root' }, { propagation: 'Foreground' })
    const isDeleted = async () =>
      (await client.get(configMapKind, { namespace, name: 'child' }))?.metadata.deletionTimestamp
    await expect.poll(isDeleted, soon).toBeDefined()
    expect(await exists(configMapKind, 'root')).toBe(true)
    expect(held.metadata.uid).toBeDefined()
    await client.patch(configMapKind, { namespace, name: 'child' }, { metadata: { finalizers: [] } })
    await expect.poll(() => exists(configMapKind, 'root'), soon).toBe(false)
    expect(await exists(configMapKind, 'child')).toBe(false)
  })

  it('of a kind that was defined meanwhile goes with its owner, and with its definition', async () => {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    const names = { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' }
    await client.create(customResourceDefinitionKind, {
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names,
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    })
    const widgetKind = client.servedKinds().find(({ kind }) => kind === 'Widget')
    if (!widgetKind) throw new Error('the definition did not become a kind')
    const createPair = async (name: string) => {
      const { metadata } = await client.create(widgetKind, { metadata: { name, namespace } })
      const owner = { apiVersion: 'example.com/v1', kind: 'Widget', name, uid: metadata.uid ?? '' }
      const ownerReferences = [owner]
      await client.create(configMapKind, { metadata: { name: `of-${name}`, namespace, ownerReferences } })
      // And the other way round.
      const { metadata: above } = await client.create(configMapKind, { metadata: { name: `above-${name}`, namespace } })
      const upper = { apiVersion: 'v1', kind: 'ConfigMap', name: above.name, uid: above.uid ?? '' }
      await client.create(widgetKind, { metadata: { name: `below-${name}`, namespace, ownerReferences: [upper] } })
    }
    await createPair('one')
    await client.delete(widgetKind, { namespace, name: 'one' })
    await expect.poll(() => exists(configMapKind, 'of-one'), soon).toBe(false)
    await client.delete(configMapKind, { namespace, name: 'above-one' })
    await expect.poll(() => exists(widgetKind, 'below-one'), soon).toBe(false)
    await createPair('two')
    // Its owner never was, so it goes as soon as it is seen; whatever was created before it has been seen by then.
    const nobody = { apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody', uid: 'never-was' }
    await client.create(widgetKind, { metadata: { name: 'last', namespace, ownerReferences: [nobody] } })
    await expect.poll(() => exists(widgetKind, 'last'), soon).toBe(false)
    await client.delete(customResourceDefinitionKind, { name: 'widgets.example.com' })
    await expect.poll(() => exists(configMapKind, 'of-two'), soon).toBe(false)
    expect(await exists(configMapKind, 'above-two')).toBe(true)
  })

  it('is let go of when its owner is deleted that way', async () => {
    const root = await createConfigMap('root')
    await createConfigMap('child', { name: 'root', uid: root.metadata.uid })
    // So that the dependent is known before the owner goes.
    await expect.poll(() => exists(configMapKind, 'child'), soon).toBe(true)
    await client.delete(configMapKind, { namespace, name: 'root' }, { propagation: 'Orphan' })
    await expect.poll(() => exists(configMapKind, 'root'), soon).toBe(false)
    const child = await client.get(configMapKind, { namespace, name: 'child' })
    expect(child?.metadata.ownerReferences ?? []).toEqual([])
  })
})

it('empties a namespace that is deleted, waits for its Pods, and lets it go', async () => {
  await createNode(1)
  await client.create(namespaceKind, { metadata: { name: 'team' } })
  await client.create(configMapKind, { metadata: { name: 'c', namespace: 'team' } })
  const spec = { nodeName: 'here', containers: [{ name: 'main', image: 'i' }] }
  await client.create(podKind, { metadata: { name: 'p', namespace: 'team' }, spec })
  await client.delete(namespaceKind, { name: 'team' })
  await expect.poll(() => exists(configMapKind, 'c', 'team'), soon).toBe(false)
  expect(await exists(namespaceKind, 'team')).toBe(true)
  await client.delete(podKind, { namespace: 'team', name: 'p' }, { graceSeconds: 0 })
  await expect.poll(() => exists(namespaceKind, 'team'), soon).toBe(false)
})

it('keeps a bounded number of Pods that have finished', async () => {
  for (const name of ['a', 'b', 'c', 'd']) {
    const created = await createPod(name, 0)
    const { resourceVersion: _version, ...metadata } = created.metadata
    await client.updateStatus(podKind, { ...created, metadata, status: { phase: 'Failed' } })
  }
  await expect.poll(async () => (await client.list(podKind, { namespace })).items.length, soon).toBe(2)
})
