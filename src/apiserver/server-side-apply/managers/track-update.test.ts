import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../resources/json-value.ts'
import { type Managers, managersOf, readManagers, writeManagers } from './managed-fields.ts'
import { sample, sampleKind } from '../fields/sample-kind.fixture.ts'
import { managersBefore, trackUpdate } from './track-update.ts'

const start = Date.parse('2030-01-01T00:00:00Z')

function track(
  before: Managers,
  current: JsonObject | undefined,
  next: JsonObject,
  who = 'up',
  now = start,
  subresource?: string,
) {
  const update = {
    kind: sampleKind,
    current,
    next,
    manager: who,
    filter: <T>(fields: T): T => fields,
    now,
    subresource,
  }
  return trackUpdate(before, update)
}

const created = track(new Map(), undefined, sample({ replicas: 1, paused: true }), 'creator')
const fieldsOf = (managers: Managers) =>
  [...managers.values()].map(({ manager, fields }) => [
    manager,
    Object.keys(fields['f:spec'] ?? {})
      .sort()
      .join(),
  ])

describe('keeping account of updates', () => {
  it('gives a new object to whoever creates it', () => {
    expect(writeManagers(created)).toEqual([
      {
        manager: 'creator',
        operation: 'Update',
        apiVersion: 'test.dev/v1',
        time: '2030-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': { '.': {}, 'f:replicas': {}, 'f:paused': {} } },
      },
    ])
  })

  it('gives what is changed to whoever changes it, and what is removed to nobody', () => {
    const after = track(created, sample({ replicas: 1, paused: true }), sample({ replicas: 2, port: 1 }), 'up')
    expect(fieldsOf(after)).toEqual([
      ['creator', ''],
      ['up', 'f:port,f:replicas'],
    ])
  })

  it('keeps the very same account when nothing changes', () => {
    expect(track(created, sample({ replicas: 1 }), sample({ replicas: 1 }), 'up', start + 60_000)).toBe(created)
  })

  it('tells apart who writes through a subresource', () => {
    const after = track(
      created,
      sample({ replicas: 1 }),
      { ...sample({ replicas: 1 }), status: { ready: 1 } },
      'creator',
      start,
      'status',
    )
    expect(writeManagers(after)?.map(({ manager, subresource }) => [manager, subresource])).toEqual([
      ['creator', undefined],
      ['creator', 'status'],
    ])
  })

  it('keeps none of an object that nobody kept account of', () => {
    expect(track(new Map(), sample({ replicas: 1 }), sample({ replicas: 2 })).size).toBe(0)
  })

  it('calls a manager without a name unknown', () => {
    expect(fieldsOf(track(new Map(), undefined, sample({ replicas: 1 }), ''))).toEqual([['unknown', '.,f:replicas']])
  })

  it('keeps ten that update apart, and makes one of those that were before', () => {
    let object = sample({ granular: {} })
    let managers = track(new Map(), undefined, object, 'm0')
    for (let count = 1; count <= 12; count += 1) {
      const next = sample({ granular: { ...granularOf(object), [`k${count}`]: '1' } })
      managers = track(managers, object, next, `m${count}`, start + count * 1000)
      object = next
    }
    const written = writeManagers(managers) ?? []
    expect(written.map(({ manager }) => manager)).toEqual([
      'ancient-changes',
      ...[4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => `m${n}`),
    ])
    expect(written[0]).toMatchObject({
      time: '2030-01-01T00:00:03Z',
      fieldsV1: { 'f:spec': { 'f:granular': { 'f:k1': {}, 'f:k2': {}, 'f:k3': {} } } },
    })
  })
})

function granularOf(object: JsonObject): JsonObject {
  return (object['spec'] as { granular: JsonObject }).granular
}

describe('what a client says of managers', () => {
  const live = sample(undefined, { managedFields: writeManagers(created) })
  const sent = (manager: string) => [
    { manager, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:x': {} } },
  ]
  const names = (said: unknown, subresource?: string) =>
    [...managersBefore(live, said, subresource).values()].map(({ manager }) => manager)

  it.each<[string, unknown, string[]]>([
    ['nothing: they stay', undefined, ['creator']],
    ['an empty list: they are forgotten', [], []],
    ['a list of an empty entry: they are forgotten', [{}], []],
    ['others: those count', sent('other'), ['other']],
    ['something unreadable: they stay', [{ manager: 'x', operation: 'Dance' }], ['creator']],
    ['no list: they stay', 'text', ['creator']],
  ])('%s', (_name, said, expected) => {
    expect(names(said)).toEqual(expected)
  })

  it('does not count in a subresource', () => {
    expect(names([{}], 'status')).toEqual(['creator'])
  })

  it.each([
    [[{ manager: 'x', operation: 'Update', apiVersion: '', fieldsType: 'FieldsV1' }]],
    [[{ manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV2' }]],
    [[{ manager: 'x', operation: 'Update', apiVersion: 'v1' }]],
    [[{ manager: 1, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' }]],
    [['text']],
  ])('is not understood: %j', (entries) => {
    expect(readManagers(entries)).toBeUndefined()
  })
})

describe('managedFields', () => {
  const entry = (manager: string, operation: string, time?: string, subresource?: string) => ({
    manager,
    operation,
    apiVersion: 'v1',
    ...(time !== undefined && { time: `2030-01-01T00:00:0${time}Z` }),
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:x': {} },
    ...(subresource !== undefined && { subresource }),
  })

  it('are sorted: Apply first, then by time, then by name and subresource', () => {
    const sorted = [
      entry('z', 'Apply'),
      entry('b', 'Apply', '1'),
      entry('a', 'Apply', '2'),
      entry('a', 'Update', '1'),
      entry('a', 'Update', '1', 'scale'),
      entry('a', 'Update', '1', 'status'),
      entry('b', 'Update', '1'),
    ]
    expect(writeManagers(managersOf(sorted.toReversed()))).toEqual(sorted)
  })
})
