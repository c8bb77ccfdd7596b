import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { configMapKind } from '../resources/config-map.ts'
import { modelKind } from '../resources/model.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { persistentVolumeClaimKind } from '../resources/persistent-volume-claim.ts'
import { podKind } from '../resources/pod.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ClusterApi } from './cluster-api.ts'
import { labelsEqual } from './reading/label-selector.ts'
import { merge, model, pod, refusal } from './test-support/cluster-objects.fixture.ts'

let store: MemoryStore
let api: ClusterApi

beforeEach(async () => {
  store = new MemoryStore()
  api = new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: new FakeClock() })
  await api.create(namespaceKind, undefined, { metadata: { name: 'demo' } })
})

describe('updating', () => {
  it('counts generations on changes of the spec only, and leaves the status alone', async () => {
    const created = await api.create(modelKind, 'demo', model())
    const ref = { namespace: 'demo', name: 'm' }
    const labelled = await api.patch(
      modelKind,
      ref,
      merge({ metadata: { labels: { a: 'b' } }, status: { phase: 'Ready' } }),
    )
    expect(labelled.metadata.generation).toBe(1)
    expect(labelled['status']).toBeUndefined()
    const grown = await api.patch(modelKind, ref, merge({ spec: { maxReplicas: 3 } }))
    expect(grown.metadata).toMatchObject({ generation: 2, uid: created.metadata.uid, labels: { a: 'b' } })
  })

  it('takes changes of what a version stored that knew fewer defaults', async () => {
    const ref = { namespace: 'demo', name: 'old' }
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { ...ref, uid: 'u' }, spec }
    await store.create({ resource: 'persistentvolumeclaims', ...ref }, claim)
    const changed = await api.patch(persistentVolumeClaimKind, ref, merge({ spec: { storageClassName: 'standard' } }))
    expect(changed['spec']).toEqual({ ...spec, storageClassName: 'standard', volumeMode: 'Filesystem' })
    const other = merge({ spec: { accessModes: ['ReadWriteMany'] } })
    expect((await refusal(api.patch(persistentVolumeClaimKind, ref, other))).reason).toBe('Invalid')
  })

  it('writes the status through its subresource, and nothing else', async () => {
    const created = await api.create(modelKind, 'demo', model())
    const updated = await api.update(
      modelKind,
      { namespace: 'demo', name: 'm' },
      { ...created, spec: { engine: 'VLLM' }, status: { phase: 'Ready' } },
      {},
      'status',
    )
    expect(updated).toMatchObject({
      spec: created['spec'] as object,
      status: { phase: 'Ready' },
      metadata: { generation: 1 },
    })
  })

  it('refuses an update of an older version, and one of ours without a version', async () => {
    const created = await api.create(modelKind, 'demo', model())
    const ref = { namespace: 'demo', name: 'm' }
    await api.patch(modelKind, ref, merge({ spec: { maxReplicas: 3 } }))
    expect((await refusal(api.update(modelKind, ref, created))).reason).toBe('Conflict')
    const error = await refusal(api.update(modelKind, ref, model()))
    expect(error.message).toContain('metadata.resourceVersion: Invalid value: 0: must be specified for an update')
  })

  it('does not write what changes nothing', async () => {
    const created = await api.create(configMapKind, 'demo', { metadata: { name: 'c' }, data: { a: 'b' } })
    const updated = await api.update(configMapKind, { namespace: 'demo', name: 'c' }, created)
    expect(updated.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
    expect(String(store.revision)).toBe(created.metadata.resourceVersion)
  })

  it('refuses what is immutable in a Pod, but lets it be given a node', async () => {
    await api.create(podKind, 'demo', pod('p'))
    const ref = { namespace: 'demo', name: 'p' }
    const bound = await api.patch(podKind, ref, merge({ spec: { nodeName: 'n' } }))
    expect(bound['spec']).toMatchObject({ nodeName: 'n' })
    expect((await refusal(api.patch(podKind, ref, merge({ spec: { nodeName: 'other' } })))).reason).toBe('Invalid')
    const error = await refusal(api.patch(podKind, ref, merge({ spec: { restartPolicy: 'Never' } })))
    expect(error.message).toContain('spec: Forbidden: pod updates may not change fields other than')
  })

  it('merges concurrent patches instead of losing one', async () => {
    await api.create(configMapKind, 'demo', { metadata: { name: 'c' } })
    const ref = { namespace: 'demo', name: 'c' }
    await Promise.all(['a', 'b', 'c', 'd'].map((key) => api.patch(configMapKind, ref, merge({ data: { [key]: key } }))))
    expect(api.get(configMapKind, ref)['data']).toEqual({ a: 'a', b: 'b', c: 'c', d: 'd' })
  })

  it('scales through the scale subresource', async () => {
    await api.create(modelKind, 'demo', model())
    const ref = { namespace: 'demo', name: 'm' }
    const scaled = await api.patch(modelKind, ref, merge({ spec: { replicas: 1 } }), {}, 'scale')
    expect(scaled).toMatchObject({ spec: { replicas: 1 }, metadata: { generation: 2 } })
    expect(api.getScale(modelKind, ref)).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 1 },
      status: { replicas: 0 },
    })
    const error = await refusal(api.patch(modelKind, ref, merge({ spec: { replicas: -1 } }), {}, 'scale'))
    expect(error.message).toContain('spec.replicas: Invalid value: -1: must be greater than or equal to 0')
    expect((await refusal(api.patch(podKind, ref, merge({}), {}, 'scale'))).reason).toBe('NotFound')
  })
})

describe('deleting', () => {
  const ref = { namespace: 'demo', name: 'p' }

  it('gives a bound Pod its grace, lets it be shortened, and removes it at 0', async () => {
    await api.create(podKind, 'demo', pod('p', { nodeName: 'n' }))
    const first = await api.delete(podKind, ref)
    expect(first).toMatchObject({
      gone: false,
      object: { metadata: { deletionTimestamp: '2030-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 } },
    })
    expect((await api.delete(podKind, ref, { graceSeconds: 60 })).object.metadata.deletionGracePeriodSeconds).toBe(30)
    const shorter = await api.delete(podKind, ref, { graceSeconds: 5 })
    expect(shorter.object.metadata).toMatchObject({
      deletionTimestamp: '2030-01-01T00:00:05Z',
      deletionGracePeriodSeconds: 5,
    })
    expect(await api.delete(podKind, ref, { graceSeconds: 0 })).toMatchObject({ gone: true })
    expect(api.find(podKind, ref)).toBeUndefined()
  })

  it('removes an unbound or finished Pod at once', async () => {
    await api.create(podKind, 'demo', pod('p'))
    expect((await api.delete(podKind, ref)).gone).toBe(true)
    const bound = await api.create(podKind, 'demo', pod('p', { nodeName: 'n' }))
    await api.update(podKind, ref, { ...bound, status: { phase: 'Failed' } }, {}, 'status')
    expect((await api.delete(podKind, ref)).gone).toBe(true)
  })

  it('waits for finalizers, takes no new ones, and goes with the last', async () => {
    await api.create(configMapKind, 'demo', { metadata: { name: 'p', finalizers: ['example.com/hold'] } })
    expect((await api.delete(configMapKind, ref)).gone).toBe(false)
    const more = { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } }
    expect((await refusal(api.patch(configMapKind, ref, merge(more)))).message).toContain(
      'no new finalizers can be added',
    )
    await api.patch(configMapKind, ref, merge({ metadata: { finalizers: null } }))
    expect(api.find(configMapKind, ref)).toBeUndefined()
  })

  it.each([
    ['Foreground', 'foregroundDeletion'],
    ['Orphan', 'orphan'],
  ] as const)('records %s propagation as a finalizer', async (propagation, finalizer) => {
    await api.create(configMapKind, 'demo', { metadata: { name: 'p' } })
    const { object, gone } = await api.delete(configMapKind, ref, { propagation })
    expect(gone).toBe(false)
    expect(object.metadata.finalizers).toEqual([finalizer])
  })

  it('honours preconditions', async () => {
    await api.create(configMapKind, 'demo', { metadata: { name: 'p' } })
    expect((await refusal(api.delete(configMapKind, ref, { uid: 'other' }))).reason).toBe('Conflict')
    expect((await refusal(api.delete(configMapKind, ref, { resourceVersion: '1' }))).reason).toBe('Conflict')
    expect((await refusal(api.delete(configMapKind, { ...ref, name: 'q' }))).reason).toBe('NotFound')
  })

  it('closes a namespace before it goes', async () => {
    const { gone, object } = await api.delete(namespaceKind, { name: 'demo' })
    expect(gone).toBe(false)
    expect(object).toMatchObject({ status: { phase: 'Terminating' }, spec: { finalizers: ['kubernetes'] } })
    const error = await refusal(api.create(configMapKind, 'demo', { metadata: { name: 'late' } }))
    expect(error).toMatchObject({ code: 403 })
    expect(error.message).toContain('because it is being terminated')
    await api.update(namespaceKind, { name: 'demo' }, { spec: { finalizers: [] } }, {}, 'finalize')
    expect(api.find(namespaceKind, { name: 'demo' })).toBeUndefined()
  })

  it('keeps the namespaces a cluster cannot be without', async () => {
    await api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
    expect((await refusal(api.delete(namespaceKind, { name: 'default' }))).reason).toBe('Forbidden')
  })

  it('deletes a selected collection', async () => {
    for (const name of ['a', 'b', 'c']) {
      await api.create(configMapKind, 'demo', { metadata: { name, labels: { keep: String(name === 'c') } } })
    }
    const deleted = await api.deleteCollection(configMapKind, {
      namespace: 'demo',
      labels: labelsEqual({ keep: 'false' }),
    })
    expect(deleted.map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    expect(api.list(configMapKind).items.map(({ metadata }) => metadata.name)).toEqual(['c'])
  })
})
