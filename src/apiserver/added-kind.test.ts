import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FakeClock } from '../foundation/fake-clock.ts'
import { coreKind } from '../resources/core-kind.ts'
import { objectMetaFields } from '../resources/object-meta-fields.ts'
import { objectMetaSchema } from '../resources/kubernetes-object.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { missing } from '../resources/type-rules.ts'
import { fixed } from '../resources/update-rules.ts'
import { checkDnsLabel } from '../resources/validation/name-syntax.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { tableOf } from './answers/table.ts'
import { ClusterApi } from './cluster-api.ts'
import { resourceList } from './discovery/discovery.ts'
import { parseFieldSelector } from './reading/field-selector.ts'

const text = { type: 'string' } as const
const count = { type: 'integer' } as const

const lockSchema = z.looseObject({
  apiVersion: z.literal('water.example/v1'),
  kind: z.literal('Lock'),
  metadata: objectMetaSchema,
  spec: z.looseObject({ river: z.string(), gates: z.int(), mode: z.string() }),
  status: z.looseObject({ gates: z.int().optional(), level: z.string().optional() }).optional(),
})

/** A core kind that this program has never heard of: this row is all that is said about it. */
const lockKind = coreKind(lockSchema, {
  group: 'water.example',
  kind: 'Lock',
  plural: 'locks',
  shortNames: ['lk'],
  hasStatus: true,
  hasGeneration: true,
  notInGeneration: 'mode',
  keptByStatus: ['labels'],
  fields: () => ({
    type: 'object',
    'x-sluice-type-name': 'example.water.Lock',
    properties: {
      apiVersion: text,
      kind: text,
      metadata: objectMetaFields,
      spec: {
        type: 'object',
        'x-sluice-type-name': 'example.water.LockSpec',
        properties: { river: text, gates: count, mode: text },
      },
      status: { type: 'object', properties: { gates: count, level: text } },
    },
  }),
  columns: [{ name: 'River', type: 'string', cell: ({ spec }) => spec.river }],
  checkName: checkDnsLabel,
  types: {
    'example.water.Lock': { parts: ['spec'] },
    'example.water.LockSpec': { complete: missing({ gates: 2 }) },
  },
  complete: (lock) => ({ ...lock, metadata: { ...lock.metadata, labels: { kind: 'lock' } } }),
  initialStatus: () => ({ level: 'low' }),
  immutable: [fixed('spec.river')],
  selectableFields: ['spec.river', { field: 'status.full', from: ['status.level'], whenMissing: 'no' }],
  subresources: [
    { name: 'open', verbs: ['create'], responseKind: { group: 'water.example', version: 'v1', kind: 'Opening' } },
  ],
  scale: { specReplicasPath: '.spec.gates', statusReplicasPath: '.status.gates' },
  deletion: { lasting: ['first'], graceSeconds: (_lock, asked) => asked ?? 60 },
})

let api: ClusterApi

beforeEach(async () => {
  const clock = new FakeClock()
  api = new ClusterApi({ store: new MemoryStore(), kinds: [namespaceKind, lockKind], clock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'delta' } })
})

const upper = { namespace: 'delta', name: 'upper' }

const create = (name = 'upper') =>
  api.create(lockKind, 'delta', { metadata: { name }, spec: { river: 'Elbe', mode: 'slow' } })

describe('a kind that is added by its row alone', () => {
  it('is completed on its way in', async () => {
    expect(await create()).toMatchObject({
      metadata: { generation: 1, labels: { kind: 'lock' } },
      spec: { river: 'Elbe', gates: 2 },
      status: { level: 'low' },
    })
    await expect(create('not.a.label')).rejects.toMatchObject({ reason: 'Invalid' })
  })

  it('keeps what must not change, and counts the changes that mean something', async () => {
    const created = await create()
    const changed = (spec: object) => ({ ...created, spec: { river: 'Elbe', gates: 2, mode: 'slow', ...spec } })
    await expect(api.update(lockKind, upper, changed({ river: 'Oder' }))).rejects.toThrow(/spec.river: Invalid value/)
    const sped = await api.update(lockKind, upper, changed({ mode: 'fast' }))
    expect(sped.metadata.generation).toBe(1)
    const said = { metadata: { name: 'upper', labels: { a: 'b' }, annotations: { c: 'd' } }, status: { gates: 1 } }
    const told = await api.update(lockKind, upper, said, {}, 'status')
    expect(told).toMatchObject({
      metadata: { labels: { kind: 'lock' }, annotations: { c: 'd' } },
      status: { gates: 1 },
    })
  })

  it('is selected by its fields, scaled, shown as a table and found by discovery', async () => {
    const created = await create()
    const count = (selector: string) =>
      api.list(lockKind, { namespace: 'delta', fields: parseFieldSelector(lockKind, selector) }).items.length
    expect([count('spec.river=Elbe'), count('spec.river=Oder'), count('status.full=low')]).toEqual([1, 0, 1])
    expect(api.getScale(lockKind, upper)).toMatchObject({ spec: { replicas: 2 } })
    const shown = tableOf(lockKind, [created], {}, { now: 0, include: 'None', withColumns: true })
    expect(shown['rows']).toEqual([{ cells: ['upper', 'Elbe'] }])
    expect(resourceList([lockKind], 'water.example', 'v1')).toMatchObject({
      resources: [{ name: 'locks' }, { name: 'locks/open' }, { name: 'locks/scale' }, { name: 'locks/status' }],
    })
  })

  it('ends as it says', async () => {
    await create()
    await create('first')
    const { object, gone } = await api.delete(lockKind, upper)
    expect([gone, object.metadata.deletionGracePeriodSeconds]).toEqual([false, 60])
    const refused = 'locks "first" is forbidden: this lock may not be deleted'
    await expect(api.delete(lockKind, { namespace: 'delta', name: 'first' })).rejects.toThrow(refused)
  })
})
