import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../../foundation/fake-clock.ts'
import { coreKinds, customKinds } from '../../../resources/all-kinds.ts'
import { configMapKind } from '../../../resources/config-map.ts'
import { deploymentKind } from '../../../resources/deployment.ts'
import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { namespaceKind } from '../../../resources/namespace.ts'
import { MemoryStore } from '../../../store/memory-store.ts'
import { ClusterApi } from '../../cluster-api.ts'
import { mergePatch } from '../../patches/merge-patch.ts'
import { applyManifestTo } from '../apply-request.ts'

let api: ClusterApi
const ref = { namespace: 'demo', name: 'a' }

beforeEach(async () => {
  api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock: new FakeClock() })
  await api.create(namespaceKind, undefined, { metadata: { name: 'demo' } })
})

const configMap = (data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a' },
  data,
})
const deployment = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'a' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'main', image: 'app:1' }] } },
  },
})
const scale = (replicas: number) => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'a' },
  spec: { replicas },
})

interface Entry {
  readonly manager: string
  readonly operation: string
  readonly subresource?: string
  readonly fieldsV1: Record<string, Record<string, unknown>>
}

const entries = ({ metadata }: KubernetesObject) => (metadata['managedFields'] ?? []) as readonly Entry[]
const replicasOf = (object: KubernetesObject) =>
  entries(object)
    .filter(({ fieldsV1 }) => fieldsV1['f:spec']?.['f:replicas'] !== undefined)
    .map(({ manager, operation, subresource }) => [manager, operation, subresource].join(' ').trim())

describe('every write', () => {
  it('says who manages what, and keeps it through writes of the status', async () => {
    await api.create(deploymentKind, 'demo', deployment(1), { manager: 'maker' })
    const status = (current: unknown) => mergePatch(current, { status: { replicas: 1 } })
    const updated = await api.patch(deploymentKind, ref, status, { manager: 'reporter' }, 'status')
    expect(entries(updated).map(({ manager, subresource }) => [manager, subresource])).toEqual([
      ['maker', undefined],
      ['reporter', 'status'],
    ])
    expect(entries(updated)[1]?.fieldsV1).toEqual({ 'f:status': { 'f:replicas': {} } })
  })

  it('changes nothing when only the manager is another one', async () => {
    const created = await api.create(configMapKind, 'demo', configMap({ x: '1' }), { manager: 'one' })
    const same = await api.update(configMapKind, ref, configMap({ x: '1' }), { manager: 'two' })
    expect(same.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
  })

  it('of a new object does not count what the server gave it', async () => {
    const created = await api.create(namespaceKind, undefined, { metadata: { name: 'n' } }, { manager: 'one' })
    expect(entries(created)).toMatchObject([
      { fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:kubernetes.io/metadata.name': {} } } } },
    ])
    expect(entries(created)[0]?.fieldsV1).not.toHaveProperty('f:spec')
  })
})

describe('replicas', () => {
  const apply = (manager: string, manifest: ReturnType<typeof deployment>, force = false) =>
    applyManifestTo(api, { kind: deploymentKind, ref }, manifest, { manager, force })
  const applyScale = (manager: string, replicas: number, force = false) => {
    const target = { kind: deploymentKind, ref, subresource: 'scale' } as const
    return applyManifestTo(api, target, scale(replicas), { manager, force })
  }

  it('go over to whoever scales', async () => {
    await apply('one', deployment(1))
    const patch = (current: unknown) => mergePatch(current, { spec: { replicas: 3 } })
    const scaled = await api.patch(deploymentKind, ref, patch, { manager: 'scaler' }, 'scale')
    expect(replicasOf(scaled)).toEqual(['scaler Update scale'])
    const again = await api.patch(
      deploymentKind,
      ref,
      (now) => mergePatch(now, { spec: { replicas: 4 } }),
      { manager: 'scaler' },
      'scale',
    )
    expect(replicasOf(again)).toEqual(['scaler Update scale'])
    await expect(apply('one', deployment(1))).rejects.toMatchObject({
      message:
        'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas',
    })
  })

  it('can be shared by those who apply the scale and the object', async () => {
    await apply('one', deployment(2))
    expect(replicasOf((await applyScale('scaler', 2)).object)).toEqual(['scaler Apply scale', 'one Apply'])
    await expect(applyScale('scaler', 3)).rejects.toMatchObject({ reason: 'Conflict' })
    const forced = (await applyScale('scaler', 3, true)).object
    expect([forced['spec'], replicasOf(forced)]).toMatchObject([{ replicas: 3 }, ['scaler Apply scale']])
  })

  it('stay with whoever has them when the scale stays what it is', async () => {
    await api.create(deploymentKind, 'demo', deployment(2), { manager: 'maker' })
    expect(replicasOf((await applyScale('scaler', 2)).object)).toEqual(['scaler Apply scale', 'maker Update'])
  })

  it('of what is not there cannot be applied', async () => {
    await expect(applyScale('scaler', 2)).rejects.toMatchObject({ reason: 'NotFound' })
  })
})

describe('applying what is not there', () => {
  const apply = (
    manager: string,
    data: Record<string, string>,
    more: { dryRun?: boolean; refuseCreate?: () => void } = {},
  ) => applyManifestTo(api, { kind: configMapKind, ref }, configMap(data), { manager, force: false, ...more })

  it('creates it, once, however many try', async () => {
    const results = await Promise.all(['a', 'b', 'c', 'd'].map((manager) => apply(manager, { [manager]: '1' })))
    expect(results.filter(({ created }) => created)).toHaveLength(1)
    const object = api.get(configMapKind, ref)
    expect(object['data']).toEqual({ a: '1', b: '1', c: '1', d: '1' })
    expect(
      entries(object)
        .map(({ manager }) => manager)
        .toSorted(),
    ).toEqual(['a', 'b', 'c', 'd'])
  })

  it('writes nothing on a dry run', async () => {
    expect((await apply('one', { x: '1' }, { dryRun: true })).created).toBe(true)
    expect(api.find(configMapKind, ref)).toBeUndefined()
  })

  it('asks first whether it may be created', async () => {
    const refuseCreate = () => {
      throw new Error('you may not')
    }
    await expect(apply('one', { x: '1' }, { refuseCreate })).rejects.toThrow('you may not')
    await api.create(configMapKind, 'demo', configMap({}))
    await expect(apply('one', { x: '1' }, { refuseCreate })).resolves.toMatchObject({ created: false })
  })
})
