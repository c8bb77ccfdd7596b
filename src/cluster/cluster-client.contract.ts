import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { type Cluster, clusterKind } from '../resources/cluster.ts'
import { type ConfigMap, configMapKind } from '../resources/config-map.ts'
import { eventKind } from '../resources/event.ts'
import { type Model, modelKind } from '../resources/model.ts'
import { modelUrlPattern } from '../resources/model-references.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { podKind } from '../resources/pod.ts'
import { StatusError } from '../resources/status-error.ts'
import type { ClusterClient, WatchEvent } from './cluster-client.ts'
import { EventRecorder } from './event-recorder.ts'
import { Informer } from './informer.ts'

/** A cluster that serves our kinds and the core ones, with nothing running in it that would change objects. */
export interface ClusterUnderTest {
  readonly client: ClusterClient
  /** A version from which Models cannot be watched any more. */
  expiredVersion(): Promise<string>
  stop(): Promise<void>
}

/** Where the embedded cluster names the same field but is less exact than Kubernetes about the reason. */
const someReason: unknown = expect.any(String)

const goodSpec = { url: 'pvc://userdata/smollm2', engine: 'LlamaCpp' }

/** What every ClusterClient does, whichever cluster is behind it. */
export function clusterClientContract(start: () => Promise<ClusterUnderTest>): void {
  let cluster: ClusterUnderTest
  let client: ClusterClient
  let namespace: string
  let namespaces = 0
  let finished: AbortController

  beforeAll(async () => {
    cluster = await start()
    client = cluster.client
  })
  afterAll(() => cluster?.stop())
  beforeEach(async () => {
    finished = new AbortController()
    namespace = `contract-${(namespaces += 1)}`
    await client.create(namespaceKind, { metadata: { name: namespace } })
  })
  afterEach(() => finished.abort())

  const configMap = (name: string, labels: Record<string, string> = {}, value = '') =>
    client.create(configMapKind, { metadata: { name, namespace, labels }, data: { value } })
  const model = (name: string, fields: Record<string, unknown> = { spec: goodSpec }) =>
    client.create(modelKind, { metadata: { name, namespace }, ...fields })

  async function refusal(act: Promise<unknown>): Promise<StatusError> {
    const outcome: unknown = await act.then(
      () => 'accepted',
      (error: unknown) => error,
    )
    expect(outcome).toBeInstanceOf(StatusError)
    return outcome as StatusError
  }

  /**
   * The fields at fault and why. A real API server adds two kinds of causes that name no field of the object: that rules over
   * several fields were not judged, and what its scale subresource made of the same fault.
   */
  function faultsOf(error: StatusError): Record<string, string> {
    const causes = error.details.causes ?? []
    const own = causes.filter(({ field }) => field !== '' && field !== '<nil>' && !field.startsWith('.'))
    return Object.fromEntries(own.map(({ field, reason }) => [field, reason]))
  }

  /** The next events that are not bookmarks. */
  async function take(iterator: AsyncIterator<WatchEvent<ConfigMap>>, count: number) {
    const seen: Array<{ type: string; object: ConfigMap }> = []
    while (seen.length < count) {
      const { done, value } = await iterator.next()
      if (done) break
      if (value.type !== 'BOOKMARK') seen.push(value)
    }
    return seen
  }

  const watching = (options: { resourceVersion: string; namespace?: string; labels?: Record<string, string> }) =>
    client.watch(configMapKind, { namespace, ...options }, finished.signal)[Symbol.asyncIterator]()

  const lines = (events: ReadonlyArray<{ type: string; object: ConfigMap }>) =>
    events.map(({ type, object }) => `${type} ${object.metadata.name}`)

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

  describe('watch', () => {
    it('tells every change after a version, in order, and the last state of what was deleted', async () => {
      const created = await configMap('a', {}, 'one')
      const iterator = watching({ resourceVersion: created.metadata.resourceVersion ?? '' })
      const updated = await client.update(configMapKind, { ...created, data: { value: 'two' } })
      await configMap('b')
      await client.delete(configMapKind, { name: 'a', namespace })
      const seen = await take(iterator, 3)
      expect(lines(seen)).toEqual(['MODIFIED a', 'ADDED b', 'DELETED a'])
      expect(seen[0]?.object).toEqual(updated)
      expect(seen[2]?.object.data).toEqual({ value: 'two' })
      const versions = seen.map(({ object }) => Number(object.metadata.resourceVersion))
      expect(versions.toSorted((left, right) => left - right)).toEqual(versions)
    })

    it('goes on from a list without gap or duplicate', async () => {
      await configMap('a')
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      await configMap('b')
      const iterator = watching({ resourceVersion })
      expect(lines(await take(iterator, 1))).toEqual(['ADDED b'])
      await configMap('c')
      expect(lines(await take(iterator, 1))).toEqual(['ADDED c'])
    })

    it('keeps to its namespace', async () => {
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      const iterator = watching({ resourceVersion })
      await client.create(configMapKind, { metadata: { name: `x-${namespace}`, namespace: 'default' } })
      await configMap('mine')
      expect(lines(await take(iterator, 1))).toEqual(['ADDED mine'])
    })

    it('shows an object that comes into the selection as added, and one that leaves it as deleted', async () => {
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      const iterator = watching({ resourceVersion, labels: { tier: 'x' } })
      const ref = { name: 'a', namespace }
      await configMap('a', { tier: 'other' })
      await configMap('never')
      await client.patch(configMapKind, ref, { metadata: { labels: { tier: 'x' } } })
      await client.patch(configMapKind, ref, { data: { value: 'inside' } })
      await client.patch(configMapKind, ref, { metadata: { labels: { tier: 'other' } } })
      await client.patch(configMapKind, ref, { data: { value: 'outside' } })
      await client.patch(configMapKind, ref, { metadata: { labels: { tier: 'x' } } })
      await client.delete(configMapKind, ref)
      expect(lines(await take(iterator, 5))).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a'])
    })

    it('ends quietly when it is aborted', async () => {
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      const iterator = watching({ resourceVersion })
      const waiting = take(iterator, 1)
      await configMap('a')
      expect(lines(await waiting)).toEqual(['ADDED a'])
      const next = take(iterator, 1)
      finished.abort()
      expect(await next).toEqual([])
    })

    it('says when a version is too old', async () => {
      const resourceVersion = await cluster.expiredVersion()
      const iterator = client.watch(modelKind, { namespace, resourceVersion }, finished.signal)[Symbol.asyncIterator]()
      expect(await refusal(iterator.next())).toMatchObject({ reason: 'Expired', code: 410 })
    })

    it('refuses a version that is none', async () => {
      const error = await refusal(take(watching({ resourceVersion: 'yesterday' }), 1))
      expect(error.reason).not.toBe('Expired')
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

  describe('a Model', () => {
    it('gets its defaults, and loses what it does not have', async () => {
      const created = await model('m', { spec: { ...goodSpec, colour: 'red' }, colour: 'blue' })
      expect(created['colour']).toBeUndefined()
      expect(created.spec).toEqual({
        ...goodSpec,
        features: ['TextGeneration'],
        imagePullSecrets: [],
        resourceProfile: 'default:1',
        minReplicas: 0,
        maxReplicas: 1,
        targetRequests: 100,
        scaleDownDelaySeconds: 30,
      })
    })

    it('gets the default where it says null, or nothing where there is none', async () => {
      const created = await model('m', { spec: { ...goodSpec, minReplicas: null, features: null, owner: null } })
      expect(created.spec).toMatchObject({ minReplicas: 0, features: ['TextGeneration'] })
      expect(created.spec).not.toHaveProperty('owner')
    })

    it.each([
      [undefined, { spec: 'FieldValueRequired' }],
      ['text', { spec: 'FieldValueTypeInvalid' }],
      [{ engine: 'VLLM' }, { 'spec.url': 'FieldValueRequired' }],
      [{ url: goodSpec.url }, { 'spec.engine': someReason }],
      [{}, { 'spec.url': 'FieldValueRequired', 'spec.engine': someReason }],
      [{ ...goodSpec, url: 'https://example.com/model' }, { 'spec.url': 'FieldValueInvalid' }],
      [{ ...goodSpec, url: 'pvc://userdata/../secrets' }, { 'spec.url': 'FieldValueInvalid' }],
      [{ ...goodSpec, url: 7 }, { 'spec.url': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, engine: 'Steam' }, { 'spec.engine': 'FieldValueNotSupported' }],
      [{ ...goodSpec, features: ['Telepathy'] }, { 'spec.features[0]': 'FieldValueNotSupported' }],
      [{ ...goodSpec, features: [] }, { 'spec.features': 'FieldValueInvalid' }],
      [{ ...goodSpec, resourceProfile: 'l40s' }, { 'spec.resourceProfile': 'FieldValueInvalid' }],
      [{ ...goodSpec, resourceProfile: 'nvidia.com/gpu-l40s:0' }, { 'spec.resourceProfile': 'FieldValueInvalid' }],
      [{ ...goodSpec, imagePullSecrets: [''] }, { 'spec.imagePullSecrets[0]': 'FieldValueInvalid' }],
      [{ ...goodSpec, minReplicas: -1 }, { 'spec.minReplicas': 'FieldValueInvalid' }],
      [{ ...goodSpec, minReplicas: '1' }, { 'spec.minReplicas': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, minReplicas: 1.5 }, { 'spec.minReplicas': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, minReplicas: 3, maxReplicas: 2 }, { 'spec.minReplicas': 'FieldValueInvalid' }],
      [{ ...goodSpec, maxReplicas: 0 }, { 'spec.maxReplicas': 'FieldValueInvalid' }],
      [{ ...goodSpec, url: null }, { 'spec.url': 'FieldValueRequired' }],
      [{ ...goodSpec, features: 'TextGeneration' }, { 'spec.features': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, features: [null] }, { 'spec.features[0]': 'FieldValueNotSupported' }],
      [{ ...goodSpec, owner: 'x'.repeat(254) }, { 'spec.owner': someReason }],
      [{ ...goodSpec, args: Array.from({ length: 65 }, () => 'x') }, { 'spec.args': someReason }],
      [{ ...goodSpec, args: [1] }, { 'spec.args[0]': 'FieldValueTypeInvalid' }],
      [{ ...goodSpec, args: 'one two' }, { 'spec.args': 'FieldValueTypeInvalid' }],
      [
        { ...goodSpec, engine: 'Steam', targetRequests: 0 },
        { 'spec.engine': 'FieldValueNotSupported', 'spec.targetRequests': 'FieldValueInvalid' },
      ],
    ])('is refused with the fields at fault: spec %j', async (spec, faults) => {
      const error = await refusal(model('m', spec === undefined ? {} : { spec }))
      expect(error).toMatchObject({ reason: 'Invalid', code: 422, details: { name: 'm', kind: 'Model' } })
      expect(faultsOf(error)).toEqual(faults)
    })

    it('has a url that every cluster judges alike', async () => {
      const paths = ['a', 'a/b', '.a', '..a', 'a..', '...', 'a b', 'a\tb', 'a\u00a0b', 'a\u2028b', 'a\\b', 'ä', 'a%41']
      const traversal = ['.', '..', 'a/.', './a', 'a/../b', '%2e', '%2E%2e', 'a%2fb', 'a%5Cb', 'a%00', '', 'a/', 'a//b']
      const urls = [
        ...[...paths, ...traversal].map((path) => `pvc://userdata/${path}`),
        'pvc://userdata',
        'pvc:///a',
        'pvc://User/a',
        'pvc://-a/b',
        'PVC://a/b',
        `pvc://${'a'.repeat(64)}/b`,
        ' pvc://a/b',
      ]
      const judged: Array<[string, string]> = []
      for (const [index, url] of urls.entries()) {
        const judgement = model(`m${index}`, { spec: { ...goodSpec, url } }).then(
          () => 'accepted',
          (error: unknown) => (error instanceof StatusError ? Object.keys(faultsOf(error)).join() : String(error)),
        )
        judged.push([url, await judgement])
      }
      expect(judged).toEqual(urls.map((url) => [url, modelUrlPattern.test(url) ? 'accepted' : 'spec.url']))
    })
  })

  describe('what stands on a client', () => {
    it('an informer has what is there and follows what changes', async () => {
      await configMap('a', { follow: 'yes' })
      await configMap('other')
      const informer = new Informer({
        client,
        kind: configMapKind,
        scope: { namespace, labels: { follow: 'yes' } },
        clock: systemClock,
        log: silentLogger,
      })
      const changes: string[] = []
      const seen = Promise.withResolvers<void>()
      informer.onChange(({ type, object }) => {
        changes.push(`${type} ${object.metadata.name}`)
        if (changes.length === 4) seen.resolve()
      })
      const running = informer.run(finished.signal)
      await informer.whenSynced()
      expect(informer.list().map((object) => object.metadata.name)).toEqual(['a'])
      await configMap('b', { follow: 'yes' })
      await client.patch(configMapKind, { name: 'b', namespace }, { data: { value: 'changed' } })
      await client.delete(configMapKind, { name: 'a', namespace })
      await seen.promise
      expect(changes).toEqual(['added a', 'added b', 'updated b', 'deleted a'])
      expect(informer.get({ name: 'b', namespace })?.data).toEqual({ value: 'changed' })
      finished.abort()
      await running
    })

    it('an event recorder tells what happened, and counts what happens again', async () => {
      const about = await model('m')
      const recorder = new EventRecorder({ client, component: 'contract', clock: systemClock, log: silentLogger })
      recorder.record(about, 'Normal', 'Woken', 'a request arrived')
      recorder.record(about, 'Normal', 'Woken', 'a request arrived')
      recorder.record(about, 'Warning', 'Failed', 'no card is free')
      await recorder.idle()
      const { items } = await client.list(eventKind, { namespace })
      expect(items.map(({ type, reason, count }) => ({ type, reason, count }))).toEqual(
        expect.arrayContaining([
          { type: 'Normal', reason: 'Woken', count: 2 },
          { type: 'Warning', reason: 'Failed', count: 1 },
        ]),
      )
      expect(items).toHaveLength(2)
      expect(items[0]?.involvedObject).toMatchObject({ kind: 'Model', name: 'm', uid: about.metadata.uid })
    })
  })
}
