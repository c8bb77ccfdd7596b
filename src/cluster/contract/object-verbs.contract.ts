import { beforeEach, describe, expect, it } from 'vitest'
import { type Cluster, clusterKind } from '../../resources/cluster.ts'
import { configMapKind } from '../../resources/config-map.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { type Model, modelKind } from '../../resources/model.ts'
import { podKind } from '../../resources/pod.ts'
import { secretKind } from '../../resources/secret.ts'
import type { ClusterClient } from '../cluster-client.ts'
import { type ContractStage, faultsOf, refusal } from './contract-stage.contract.ts'

/** Reading and writing single objects and lists. */
export function objectVerbsContract(stage: ContractStage): void {
  let client: ClusterClient
  let namespace: string
  beforeEach(() => {
    client = stage.client
    namespace = stage.namespace
  })
  const configMap: ContractStage['configMap'] = (...args) => stage.configMap(...args)
  const model: ContractStage['model'] = (...args) => stage.model(...args)

  describe('create and get', () => {
    it('fills in what the server knows, and reads back the same', async () => {
      const created = await configMap('a', { tier: 'x' }, 'one')
      expect(created).toMatchObject({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'a', namespace, labels: { tier: 'x' } },
        data: { value: 'one' },
      })
      expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/)
      expect(created.metadata.resourceVersion).toMatch(/^\d+$/)
      expect(created.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      expect(await client.get(configMapKind, { name: 'a', namespace })).toEqual(created)
    })

    it('gives undefined for what is not there', async () => {
      expect(await client.get(configMapKind, { name: 'nothing', namespace })).toBeUndefined()
      expect(await client.get(modelKind, { name: 'nothing', namespace })).toBeUndefined()
      expect(await client.get(configMapKind, { name: 'nothing', namespace: 'nowhere' })).toBeUndefined()
    })

    it('makes up a name', async () => {
      const created = await client.create(configMapKind, { metadata: { generateName: 'job-', namespace } })
      expect(created.metadata.name).toMatch(/^job-[a-z0-9]{5}$/)
    })

    it('refuses a name that is taken', async () => {
      await configMap('a')
      const error = await refusal(configMap('a'))
      expect(error).toMatchObject({ reason: 'AlreadyExists', code: 409, details: { name: 'a', kind: 'configmaps' } })
      expect(error.message).toBe('configmaps "a" already exists')
      await model('m')
      const taken = await refusal(model('m'))
      expect(taken).toMatchObject({ reason: 'AlreadyExists', details: { name: 'm', group: 'sluice.dev' } })
      expect(taken.message).toBe('models.sluice.dev "m" already exists')
    })

    it('refuses a namespace that is not there', async () => {
      const error = await refusal(client.create(configMapKind, { metadata: { name: 'a', namespace: 'nowhere' } }))
      expect(error).toMatchObject({ reason: 'NotFound', code: 404, message: 'namespaces "nowhere" not found' })
    })

    it.each(['Upper', '-dash', 'a_b', 'a..b', 'x'.repeat(254)])('refuses the name %j', async (name) => {
      const error = await refusal(configMap(name))
      expect(error).toMatchObject({ reason: 'Invalid', code: 422 })
      expect(Object.keys(faultsOf(error))).toEqual(['metadata.name'])
    })

    it('refuses bad labels', async () => {
      const error = await refusal(configMap('a', { 'bad key': 'x', good: 'bad value' }))
      expect(error.reason).toBe('Invalid')
      expect(Object.keys(faultsOf(error))).toEqual(['metadata.labels'])
    })

    it('serves kinds without a namespace', async () => {
      const spec = { displayName: 'Home', enterprise: 'acme', center: 'lab-1' }
      const created: Cluster = await client.create(clusterKind, { metadata: { name: `c-${namespace}` }, spec })
      expect(created.metadata.namespace).toBeUndefined()
      expect(await client.get(clusterKind, { name: `c-${namespace}` })).toEqual(created)
      const { items } = await client.list(clusterKind)
      expect(items.map((item) => item.metadata.name)).toContain(`c-${namespace}`)
    })
  })

  describe('list', () => {
    it('selects by namespace and by labels, in order of names, each item saying what it is', async () => {
      await configMap('b', { tier: 'front', zone: '1' })
      await configMap('a', { tier: 'front', zone: '2' })
      await configMap('c', { tier: 'back' })
      const names = async (labels?: Record<string, string>) => {
        const { items } = await client.list(configMapKind, { namespace, labels })
        expect(items.every((item) => item.kind === 'ConfigMap' && item.apiVersion === 'v1')).toBe(true)
        return items.map((item) => item.metadata.name)
      }
      expect(await names()).toEqual(['a', 'b', 'c'])
      expect(await names({ tier: 'front' })).toEqual(['a', 'b'])
      expect(await names({ tier: 'front', zone: '2' })).toEqual(['a'])
      expect(await names({ tier: 'none' })).toEqual([])
    })

    it('selects by fields', async () => {
      await configMap('a')
      await configMap('b')
      const { items } = await client.list(configMapKind, { namespace, fields: { 'metadata.name': 'b' } })
      expect(items.map((item) => item.metadata.name)).toEqual(['b'])
      const secret = (name: string, type: string) => client.create(secretKind, { metadata: { name, namespace }, type })
      await secret('one', 'example.com/one')
      await secret('two', 'example.com/two')
      const { items: secrets } = await client.list(secretKind, { namespace, fields: { type: 'example.com/two' } })
      expect(secrets.map((item) => item.metadata.name)).toEqual(['two'])
    })

    it('shows all namespaces when none is named', async () => {
      await configMap('mine', { contract: namespace })
      const { items } = await client.list(configMapKind, { labels: { contract: namespace } })
      expect(items.map((item) => item.metadata.name)).toEqual(['mine'])
    })

    it('is empty, not missing, where there is nothing', async () => {
      expect((await client.list(modelKind, { namespace })).items).toEqual([])
      expect((await client.list(configMapKind, { namespace: 'nowhere' })).items).toEqual([])
    })
  })

  describe('update', () => {
    it('replaces the object and gives it a new version', async () => {
      const created = await configMap('a', {}, 'one')
      const updated = await client.update(configMapKind, { ...created, data: { other: 'two' } })
      expect(updated.data).toEqual({ other: 'two' })
      expect(updated.metadata.uid).toBe(created.metadata.uid)
      expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion)
      expect(await client.get(configMapKind, { name: 'a', namespace })).toEqual(updated)
    })

    it('refuses what was read before somebody else wrote', async () => {
      const created = await configMap('a', {}, 'one')
      await client.update(configMapKind, { ...created, data: { value: 'theirs' } })
      const error = await refusal(client.update(configMapKind, { ...created, data: { value: 'mine' } }))
      expect(error).toMatchObject({ reason: 'Conflict', code: 409, details: { name: 'a', kind: 'configmaps' } })
      expect(error.message).toContain('the object has been modified')
    })

    it('leaves the version alone when nothing changes', async () => {
      const created = await configMap('a', {}, 'one')
      expect((await client.update(configMapKind, created)).metadata.resourceVersion).toBe(
        created.metadata.resourceVersion,
      )
    })

    it('needs no version for a core kind, but for one of ours', async () => {
      const unversioned = <T extends KubernetesObject>(object: T): T => ({
        ...object,
        metadata: { ...object.metadata, resourceVersion: undefined },
      })
      const updated = await client.update(configMapKind, { ...unversioned(await configMap('a')), data: { value: 'x' } })
      expect(updated.data).toEqual({ value: 'x' })
      const error = await refusal(client.update(modelKind, unversioned(await model('m'))))
      expect(faultsOf(error)).toEqual({ 'metadata.resourceVersion': 'FieldValueInvalid' })
    })

    it('refuses an object that is another one under the same name', async () => {
      const created = await configMap('a')
      const other = { ...created, metadata: { ...created.metadata, uid: '00000000-0000-4000-8000-000000000000' } }
      expect((await refusal(client.update(configMapKind, other))).reason).toBe('Conflict')
    })

    it('keeps owners, finalizers and annotations as they were written', async () => {
      const owner = await model('m')
      const metadata = {
        name: 'a',
        namespace,
        annotations: { 'sluice.dev/note': 'kept' },
        finalizers: ['sluice.dev/contract'],
        ownerReferences: [
          { apiVersion: 'sluice.dev/v1', kind: 'Model', name: 'm', uid: owner.metadata.uid ?? '', controller: true },
        ],
      }
      expect((await client.create(configMapKind, { metadata })).metadata).toMatchObject(metadata)
      await client.patch(configMapKind, { name: 'a', namespace }, { metadata: { finalizers: null } })
    })

    it('refuses what is not there', async () => {
      const created = await configMap('a')
      await client.delete(configMapKind, { name: 'a', namespace })
      expect((await refusal(client.update(configMapKind, created))).reason).toBe('NotFound')
    })

    it('keeps status out of an update and everything else out of a status update', async () => {
      const created = await model('m')
      expect(created.metadata.generation).toBe(1)
      const withStatus: Model = await client.updateStatus(modelKind, {
        ...created,
        metadata: { ...created.metadata, labels: { ignored: 'yes' } },
        spec: { ...created.spec, maxReplicas: 7 },
        status: { phase: 'Waking', replicas: 1 },
      })
      expect(withStatus.status).toEqual({ phase: 'Waking', replicas: 1 })
      expect(withStatus.spec.maxReplicas).toBe(1)
      expect(withStatus.metadata.generation).toBe(1)
      const updated = await client.update(modelKind, {
        ...withStatus,
        spec: { ...withStatus.spec, maxReplicas: 5 },
        status: { phase: 'Ready' },
      })
      expect(updated.spec.maxReplicas).toBe(5)
      expect(updated.status).toEqual({ phase: 'Waking', replicas: 1 })
      expect(updated.metadata.generation).toBe(2)
      expect((await refusal(client.updateStatus(modelKind, created))).reason).toBe('Conflict')
    })

    it('refuses the status of an object that is another one under the same name', async () => {
      const created = await model('m')
      const uid = '00000000-0000-4000-8000-000000000000'
      const other = { ...created, metadata: { ...created.metadata, uid } }
      expect((await refusal(client.updateStatus(modelKind, other))).reason).toBe('Conflict')
    })

    it('makes a status of what it is now, and keeps what others write meanwhile', async () => {
      const ref = { name: (await model('m')).metadata.name, namespace }
      const once = () =>
        client.changeStatus(modelKind, ref, (current) => ({
          ...current,
          metadata: { ...current.metadata, labels: {} },
          status: { phase: 'Waking' as const, replicas: (current.status?.replicas ?? 0) + 1 },
        }))
      const labelled = client.patch(modelKind, ref, { metadata: { labels: { kept: 'yes' } } })
      await Promise.all([once(), once(), labelled, once(), once()])
      const changed = await client.get(modelKind, ref)
      expect(changed).toMatchObject({ metadata: { labels: { kept: 'yes' } }, status: { replicas: 4 } })
      const lost = client.changeStatus(modelKind, { ...ref, name: 'other' }, (current) => current)
      expect((await refusal(lost)).reason).toBe('NotFound')
    })

    it('checks a status too', async () => {
      const created = await model('m')
      const bad = { ...created, status: { phase: 'Dreaming' } } as unknown as Model
      const error = await refusal(client.updateStatus(modelKind, bad))
      expect(error.reason).toBe('Invalid')
      expect(faultsOf(error)).toEqual({ 'status.phase': 'FieldValueNotSupported' })
    })
  })

  describe('patch', () => {
    it('merges, and null takes away', async () => {
      await configMap('a', { keep: 'x', drop: 'y' }, 'one')
      const patched = await client.patch(
        configMapKind,
        { name: 'a', namespace },
        { metadata: { labels: { drop: null, add: 'z' } }, data: { more: 'two' } },
      )
      expect(patched.metadata.labels).toEqual({ keep: 'x', add: 'z' })
      expect(patched.data).toEqual({ value: 'one', more: 'two' })
    })

    it('refuses what is not there, and what would be wrong afterwards', async () => {
      const missing = await refusal(client.patch(configMapKind, { name: 'a', namespace }, { data: {} }))
      expect(missing).toMatchObject({ reason: 'NotFound', message: 'configmaps "a" not found' })
      await model('m')
      const wrong = await refusal(client.patch(modelKind, { name: 'm', namespace }, { spec: { minReplicas: 9 } }))
      expect(faultsOf(wrong)).toEqual({ 'spec.minReplicas': 'FieldValueInvalid' })
    })

    it('refuses an object that is another one under the same name', async () => {
      await configMap('a')
      const metadata = { uid: '00000000-0000-4000-8000-000000000000', labels: { a: 'b' } }
      const error = await refusal(client.patch(configMapKind, { name: 'a', namespace }, { metadata }))
      expect(error.reason).toBe('Invalid')
      expect(faultsOf(error)).toEqual({ 'metadata.uid': 'FieldValueInvalid' })
    })

    it('refuses a version that is not the newest', async () => {
      const created = await configMap('a')
      await client.patch(configMapKind, { name: 'a', namespace }, { data: { value: 'theirs' } })
      const { resourceVersion } = created.metadata
      const stale = client.patch(
        configMapKind,
        { name: 'a', namespace },
        { metadata: { resourceVersion }, data: { value: 'mine' } },
      )
      expect((await refusal(stale)).reason).toBe('Conflict')
    })
  })

  describe('delete', () => {
    it('takes the object away, once', async () => {
      await configMap('a')
      await client.delete(configMapKind, { name: 'a', namespace })
      expect(await client.get(configMapKind, { name: 'a', namespace })).toBeUndefined()
      const again = await refusal(client.delete(configMapKind, { name: 'a', namespace }))
      expect(again).toMatchObject({ reason: 'NotFound', code: 404, message: 'configmaps "a" not found' })
    })

    it('spares an object that is another one under the same name', async () => {
      const created = await configMap('a')
      const other = client.delete(configMapKind, { name: 'a', namespace }, { uid: namespace })
      expect((await refusal(other)).reason).toBe('Conflict')
      await client.delete(configMapKind, { name: 'a', namespace }, { uid: created.metadata.uid })
      expect(await client.get(configMapKind, { name: 'a', namespace })).toBeUndefined()
    })

    it('waits for finalizers', async () => {
      const finalizers = ['sluice.dev/contract']
      await client.create(configMapKind, { metadata: { name: 'a', namespace, finalizers } })
      await client.delete(configMapKind, { name: 'a', namespace })
      const marked = await client.get(configMapKind, { name: 'a', namespace })
      expect(marked?.metadata.deletionTimestamp).toMatch(/Z$/)
      await client.patch(configMapKind, { name: 'a', namespace }, { metadata: { finalizers: null } })
      expect(await client.get(configMapKind, { name: 'a', namespace })).toBeUndefined()
    })

    it('gives a Pod on a node its grace, and lets the node end it; any other Pod goes at once', async () => {
      const containers = [{ name: 'main', image: 'registry.lab-1.localhost/sluice/llama-cpp:1' }]
      const pod = (name: string, spec: object) =>
        client.create(podKind, { metadata: { name, namespace }, spec: { containers, ...spec } })
      await pod('unbound', {})
      await client.delete(podKind, { name: 'unbound', namespace })
      expect(await client.get(podKind, { name: 'unbound', namespace })).toBeUndefined()
      await pod('bound', { nodeName: 'here', terminationGracePeriodSeconds: 12 })
      await client.delete(podKind, { name: 'bound', namespace })
      const ending = await client.get(podKind, { name: 'bound', namespace })
      expect(ending?.metadata).toMatchObject({ deletionGracePeriodSeconds: 12 })
      expect(ending?.metadata.deletionTimestamp).toMatch(/Z$/)
      await client.delete(podKind, { name: 'bound', namespace }, { graceSeconds: 0 })
      expect(await client.get(podKind, { name: 'bound', namespace })).toBeUndefined()
    })
  })

  describe('scale', () => {
    it('sets the replicas and nothing else', async () => {
      const created = await model('m')
      await client.scale(modelKind, { name: 'm', namespace }, 3)
      const scaled = await client.get(modelKind, { name: 'm', namespace })
      expect(scaled?.spec).toEqual({ ...created.spec, replicas: 3 })
      await client.scale(modelKind, { name: 'm', namespace }, 0)
      expect((await client.get(modelKind, { name: 'm', namespace }))?.spec.replicas).toBe(0)
    })

    it('refuses what is not there, a kind that cannot be scaled, and fewer than none', async () => {
      const missing = await refusal(client.scale(modelKind, { name: 'nothing', namespace }, 1))
      expect(missing).toMatchObject({ reason: 'NotFound', message: 'models.sluice.dev "nothing" not found' })
      await configMap('a')
      expect((await refusal(client.scale(configMapKind, { name: 'a', namespace }, 1))).reason).toBe('NotFound')
      await model('m')
      const negative = await refusal(client.scale(modelKind, { name: 'm', namespace }, -1))
      expect(negative).toMatchObject({ reason: 'Invalid' })
      expect(faultsOf(negative)).toEqual({ 'spec.replicas': 'FieldValueInvalid' })
    })
  })
}
