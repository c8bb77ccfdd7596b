import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { apiKeyKind } from '../../resources/api-key.ts'
import { customResourceDefinitionKind } from '../../resources/custom-resource-definition-kind.ts'
import type { Kind } from '../../resources/kind.ts'
import { modelKind } from '../../resources/model.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterApi } from '../cluster-api.ts'
import { mergePatch } from '../patches/merge-patch.ts'

// The life of a definition as clients see it is in tests/kubernetes/custom-resources.test.ts. Here is what a restart
// and this program's own kinds add.

const clock = new FakeClock()
const kinds = [...coreKinds, ...customKinds]
let store: MemoryStore
let api: ClusterApi

beforeEach(async () => {
  store = new MemoryStore()
  api = new ClusterApi({ store, kinds, clock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'demo' } })
})

const definition = (properties: Record<string, unknown> = { a: { type: 'string', default: 'A' } }) => ({
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
      },
    ],
  },
})
const widgets = (of: ClusterApi): Kind => {
  const kind = of.kinds.find('example.com', 'v1', 'widgets')
  if (!kind) throw new Error('widgets are not served')
  return kind
}
const define = (of: ClusterApi) => of.create(customResourceDefinitionKind, undefined, definition())

describe('custom kinds', () => {
  it('are there again after a restart, with what was stored', async () => {
    await define(api)
    await api.create(widgets(api), 'demo', { metadata: { name: 'w' }, spec: {} })
    const again = new ClusterApi({ store, kinds, clock })
    expect(again.get(widgets(again), { namespace: 'demo', name: 'w' })).toMatchObject({ spec: { a: 'A' } })
  })

  it('tell those who ask when they come and go', async () => {
    let changes = 0
    const forget = api.kinds.onChange(() => (changes += 1))
    const before = api.kinds.list()
    await define(api)
    expect(changes).toBe(1)
    expect(api.kinds.list()).not.toBe(before)
    expect(api.kinds.list().map(({ plural }) => plural)).toContain('widgets')
    forget()
    await api.delete(customResourceDefinitionKind, { name: 'widgets.example.com' })
    expect(changes).toBe(1)
  })

  it('go on being deleted after a restart', async () => {
    await define(api)
    const kind = widgets(api)
    await api.create(kind, 'demo', { metadata: { name: 'w', finalizers: ['example.com/hold'] } })
    await api.delete(customResourceDefinitionKind, { name: 'widgets.example.com' })
    const held = { namespace: 'demo', name: 'w' }
    await expect.poll(() => api.find(kind, held)?.metadata.deletionTimestamp).toBeDefined()
    const again = new ClusterApi({ store, kinds, clock })
    await again.installDefinitions([])
    expect(again.find(customResourceDefinitionKind, { name: 'widgets.example.com' })).toBeDefined()
    const released = (current: unknown) => mergePatch(current, { metadata: { finalizers: null } })
    await again.patch(widgets(again), held, released)
    await expect.poll(() => again.kinds.find('example.com', 'v1', 'widgets')).toBeUndefined()
    expect(again.find(customResourceDefinitionKind, { name: 'widgets.example.com' })).toBeUndefined()
    expect(() => again.list(kind)).toThrow('the server could not find the requested resource')
  })

  it('keep working for whoever holds the kind of before a change', async () => {
    await define(api)
    const held = widgets(api)
    const later = definition({ a: { type: 'string', default: 'changed' } })
    await api.patch(customResourceDefinitionKind, { name: 'widgets.example.com' }, (current) =>
      mergePatch(current, { spec: later.spec }),
    )
    expect(await api.create(held, 'demo', { metadata: { name: 'w' }, spec: {} })).toMatchObject({
      spec: { a: 'changed' },
    })
  })
})

describe('our own kinds', () => {
  const names = customKinds.map(({ plural, group }) => `${plural}.${group}`).toSorted()
  const defined = () => api.list(customResourceDefinitionKind).items.map(({ metadata }) => metadata.name)

  it('are served before their definitions are installed, and the same way after', async () => {
    const bad = { metadata: { name: 'm' }, spec: { url: 'pvc://a/b', engine: 'VLLM', features: ['Steam'] } }
    const refusal = () =>
      api.create(modelKind, 'demo', bad).then(
        () => 'accepted',
        (error: unknown) => (isStatusError(error, 'Invalid') ? error.message : String(error)),
      )
    const before = await refusal()
    expect(before).toContain('spec.features[0]: Unsupported value: "Steam"')
    await api.installDefinitions(customKinds)
    expect(defined()).toEqual(names)
    expect(await refusal()).toBe(before)
  })

  it('are defined once, and again when this program has changed them', async () => {
    await api.installDefinitions(customKinds)
    const revision = store.revision
    await api.installDefinitions(customKinds)
    expect(store.revision).toBe(revision)
    const changed: Kind = { ...apiKeyKind, shortNames: ['new'] }
    await api.installDefinitions([changed])
    expect(api.kinds.resolve(changed).shortNames).toEqual(['new'])
  })
})
