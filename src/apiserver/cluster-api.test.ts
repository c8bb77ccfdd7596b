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
import { MemoryStore } from '../store/memory-store.ts'
import { ClusterApi } from './cluster-api.ts'
import { labelsEqual } from './reading/label-selector.ts'
import { merge, model, pod, refusal } from './test-support/cluster-objects.fixture.ts'

const clock = new FakeClock()
let store: MemoryStore
let api: ClusterApi

beforeEach(async () => {
  store = new MemoryStore()
  api = new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'demo' } })
})

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
