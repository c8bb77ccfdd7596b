import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { configMapKind } from '../resources/config-map.ts'
import { forbidden } from '../resources/field-error.ts'
import type { Kind } from '../resources/kind.ts'
import { modelKind } from '../resources/model.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { nodeKind } from '../resources/node.ts'
import { podKind } from '../resources/pod.ts'
import { secretKind } from '../resources/secret.ts'
import { StatusError } from '../resources/status-error.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ClusterApi } from './cluster-api.ts'
import { labelsEqual } from './reading/label-selector.ts'
import { mergePatch } from './patches/merge-patch.ts'

const clock = new FakeClock()
let store: MemoryStore
let api: ClusterApi

beforeEach(async () => {
  store = new MemoryStore()
  api = new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'demo' } })
})

const model = (name = 'm', spec: Record<string, unknown> = {}) => ({
  metadata: { name },
  spec: { url: 'pvc://userdata/models/m', engine: 'LlamaCpp', ...spec },
})
const pod = (name: string, spec: Record<string, unknown> = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'registry.example/app:1' }], ...spec },
})
const merge = (patch: unknown) => (current: unknown) => mergePatch(current, patch)

async function refusal(promise: Promise<unknown>): Promise<StatusError> {
  const error: unknown = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  if (error instanceof StatusError) return error
  throw new Error(`expected a StatusError, got ${String(error)}`)
}

describe('creating', () => {
  it('fills in metadata and defaults, and ignores what the server owns', async () => {
    const sent = model('m')
    const created = await api.create(modelKind, 'demo', {
      ...sent,
      metadata: { ...sent.metadata, uid: 'mine', generation: 9, creationTimestamp: null, managedFields: [] },
      status: { phase: 'Ready' },
    })
    expect(created).toMatchObject({
      apiVersion: 'sluice.dev/v1',
      kind: 'Model',
      metadata: { name: 'm', namespace: 'demo', generation: 1, creationTimestamp: '2030-01-01T00:00:00Z' },
      spec: { minReplicas: 0, maxReplicas: 1, resourceProfile: 'default:1' },
    })
    expect(created.metadata.uid).not.toBe('mine')
    expect(created.metadata.resourceVersion).toBe(String(store.revision))
    expect(created['status']).toBeUndefined()
    expect(created.metadata.managedFields).toMatchObject([{ manager: 'unknown', operation: 'Update' }])
  })

  it('gives a Pod its phase, requests from limits and an image pull policy', async () => {
    const limits = { 'nvidia.com/gpu-l40s': 1 }
    const created = await api.create(
      podKind,
      'demo',
      pod('p', { containers: [{ name: 'main', image: 'app:1', resources: { limits } }] }),
    )
    expect(created).toMatchObject({
      spec: {
        containers: [{ imagePullPolicy: 'IfNotPresent', resources: { requests: { 'nvidia.com/gpu-l40s': '1' } } }],
        restartPolicy: 'Always',
      },
      status: { phase: 'Pending' },
    })
  })

  it('generates names', async () => {
    const created = await api.create(configMapKind, 'demo', { metadata: { generateName: 'cm-' } })
    expect(created.metadata.name).toMatch(/^cm-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    expect(created.metadata.generateName).toBe('cm-')
  })

  it('keeps the status a Node registers itself with', async () => {
    const created = await api.create(nodeKind, undefined, {
      metadata: { name: 'n' },
      status: { capacity: { cpu: '4' } },
    })
    expect(created['status']).toEqual({ capacity: { cpu: '4' }, allocatable: { cpu: '4' } })
  })

  it('folds the stringData of a Secret into its data', async () => {
    const created = await api.create(secretKind, 'demo', {
      metadata: { name: 's' },
      data: { a: 'YQ==', b: 'Yg==' },
      stringData: { b: 'new' },
    })
    expect(created['data']).toEqual({ a: 'YQ==', b: Buffer.from('new').toString('base64') })
    expect(created).not.toHaveProperty('stringData')
  })

  it('stores nothing on a dry run', async () => {
    const before = store.revision
    const created = await api.create(modelKind, 'demo', model('m'), { dryRun: true })
    expect(created.metadata.name).toBe('m')
    expect(store.revision).toBe(before)
    expect(api.find(modelKind, { namespace: 'demo', name: 'm' })).toBeUndefined()
  })

  const refused: Array<[string, Kind, string, unknown, string, string]> = [
    ['a namespace that is not there', modelKind, 'nowhere', model(), 'NotFound', 'namespaces "nowhere" not found'],
    ['no name', modelKind, 'demo', model(''), 'Invalid', 'metadata.name: Required value: name or generateName'],
    ['a bad name', modelKind, 'demo', model('Bad_Name'), 'Invalid', 'a lowercase RFC 1123 subdomain must consist'],
    ['a name with a path', configMapKind, 'demo', { metadata: { name: '../x' } }, 'Invalid', 'metadata.name: Invalid'],
    [
      'a missing field',
      modelKind,
      'demo',
      { metadata: { name: 'm' }, spec: { engine: 'VLLM' } },
      'Invalid',
      'spec.url: Required value',
    ],
    [
      'a broken rule',
      modelKind,
      'demo',
      model('m', { url: 'pvc://x/../y' }),
      'Invalid',
      'Model.sluice.dev "m" is invalid: spec.url: Invalid value: "string": must have the form pvc://',
    ],
    [
      'another kind',
      modelKind,
      'demo',
      { ...model(), kind: 'Pod' },
      'Invalid',
      'kind: Invalid value: "Pod": must be Model',
    ],
    [
      'another core kind',
      configMapKind,
      'demo',
      { metadata: { name: 'c' }, kind: 'Pod' },
      'BadRequest',
      'does not match the expected kind',
    ],
    [
      'another version',
      modelKind,
      'demo',
      { ...model(), apiVersion: 'v2' },
      'BadRequest',
      'does not match the expected API version',
    ],
    [
      'another namespace',
      configMapKind,
      'demo',
      { metadata: { name: 'c', namespace: 'other' } },
      'BadRequest',
      'the namespace of the provided object',
    ],
    [
      'a version',
      configMapKind,
      'demo',
      { metadata: { name: 'c', resourceVersion: '3' } },
      'BadRequest',
      'resourceVersion should not be set',
    ],
    ['not an object', configMapKind, 'demo', [], 'BadRequest', 'not a JSON object'],
    [
      'a bad label',
      configMapKind,
      'demo',
      { metadata: { name: 'c', labels: { 'a b': 'c' } } },
      'Invalid',
      'metadata.labels: Invalid value: "a b"',
    ],
    [
      'labels of the wrong type',
      configMapKind,
      'demo',
      { metadata: { name: 'c', labels: { a: 1 } } },
      'BadRequest',
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
  ]
  it.each(refused)('refuses %s', async (_what, kind, namespace, input, reason, words) => {
    const error = await refusal(api.create(kind, namespace, input))
    expect(error.reason).toBe(reason)
    expect(error.message).toContain(words)
  })

  it('refuses a name that is taken', async () => {
    await api.create(modelKind, 'demo', model())
    const error = await refusal(api.create(modelKind, 'demo', model()))
    expect(error.toStatus()).toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
      message: 'models.sluice.dev "m" already exists',
    })
  })

  it('prunes unknown fields of our kinds, warns of them, or refuses them', async () => {
    const input = model('m', { colour: 'blue', features: ['TextGeneration'] })
    const warnings: string[] = []
    const warned = await api.create(modelKind, 'demo', input, {
      fieldValidation: 'Warn',
      warn: (warning) => warnings.push(warning),
      dryRun: true,
    })
    expect(warnings).toEqual(['unknown field "spec.colour"'])
    expect(warned['spec']).not.toHaveProperty('colour')
    const error = await refusal(api.create(modelKind, 'demo', input, { fieldValidation: 'Strict' }))
    expect(error).toMatchObject({ reason: 'BadRequest' })
    expect(error.message).toContain('strict decoding error: unknown field "spec.colour"')
  })

  it('asks the admission rules', async () => {
    const strict = new ClusterApi({
      store,
      kinds: [...coreKinds, ...customKinds],
      clock,
      admission: [({ operation, kind }) => (kind === podKind ? [forbidden('spec', `no ${operation}`)] : [])],
    })
    const error = await refusal(strict.create(podKind, 'demo', pod('p')))
    expect(error.message).toBe('Pod "p" is invalid: spec: Forbidden: no create')
  })
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

describe('listing', () => {
  it('pages through one consistent state', async () => {
    for (const name of ['a', 'b', 'c']) await api.create(configMapKind, 'demo', { metadata: { name } })
    const first = api.list(configMapKind, { limit: 2 })
    expect(first.remaining).toBe(1)
    await api.delete(configMapKind, { namespace: 'demo', name: 'c' })
    const second = api.list(configMapKind, { limit: 2, continueToken: first.continueToken })
    expect(second.items.map(({ metadata }) => metadata.name)).toEqual(['c'])
    expect(second).toMatchObject({ resourceVersion: first.resourceVersion })
    expect(second.continueToken).toBeUndefined()
    expect(() => api.list(configMapKind, { continueToken: 'nonsense' })).toThrow('continue key is not valid')
    expect(() => api.list(podKind, { continueToken: first.continueToken })).toThrow('continue key is not valid')
    await clock.advance(5 * 60_000 + 1)
    expect(() => api.list(configMapKind, { continueToken: first.continueToken })).toThrow('too old')
  })
})

describe('watching', () => {
  it('shows objects that begin and cease to match as added and deleted', async () => {
    const stop = new AbortController()
    const seen: string[] = []
    const request = { labels: labelsEqual({ on: 'yes' }), fromVersion: String(store.revision) }
    const events = api.watch(configMapKind, request, stop.signal)
    const ref = { namespace: 'demo', name: 'c' }
    await api.create(configMapKind, 'demo', { metadata: { name: 'c' } })
    await api.patch(configMapKind, ref, merge({ metadata: { labels: { on: 'yes' } } }))
    await api.patch(configMapKind, ref, merge({ data: { a: 'b' } }))
    const left = await api.patch(configMapKind, ref, merge({ metadata: { labels: null } }))
    for await (const event of events) {
      if (event.type === 'SYNCED' || event.type === 'PASSED') continue
      const { labels, resourceVersion } = event.object.metadata
      seen.push(`${event.type} ${labels?.['on']} ${resourceVersion === left.metadata.resourceVersion}`)
      if (event.type === 'DELETED') stop.abort()
    }
    expect(seen).toEqual(['ADDED yes false', 'MODIFIED yes false', 'DELETED yes true'])
  })

  it('begins with what is there when no version is given', async () => {
    await api.create(configMapKind, 'demo', { metadata: { name: 'c' } })
    const stop = new AbortController()
    const types: string[] = []
    for await (const event of api.watch(configMapKind, {}, stop.signal)) {
      types.push(event.type)
      if (event.type === 'SYNCED') stop.abort()
    }
    expect(types).toEqual(['ADDED', 'SYNCED'])
  })

  it('refuses versions that are not versions or not ours', () => {
    expect(() => api.readVersion('x')).toThrow('invalid resource version')
    expect(() => api.readVersion('999999')).toThrow('Too large resource version')
  })
})
