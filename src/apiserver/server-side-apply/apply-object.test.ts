import * as fc from 'fast-check'
import { finish } from '../writing/write-phases.ts'
import { describe, expect, it } from 'vitest'
import { StatusError } from '../../resources/status-error.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import { applyObject } from './apply-object.ts'
import { type Managers, writeManagers } from './managers/managed-fields.ts'
import { sample, sampleKind } from './fields/sample-kind.fixture.ts'
import { trackUpdate } from './managers/track-update.ts'

interface State {
  readonly object: JsonObject | undefined
  readonly managers: Managers
}

const nothing: State = { object: undefined, managers: new Map() }
const start = Date.parse('2030-01-01T00:00:00Z')
const everything = <T>(fields: T): T => fields

function apply(state: State, manager: string, manifest: JsonObject, { force = false, now = start } = {}): State {
  const { object, managers } = state
  const kind = sampleKind
  return finish(applyObject({ kind, current: object, managers, manifest, manager, force, filter: everything, now }))
}

function update(state: State, manager: string, next: JsonObject, now = start): State {
  const change = { kind: sampleKind, current: state.object, next, manager, filter: everything, now }
  return { object: next, managers: trackUpdate(state.managers, change) }
}

function owned({ managers }: State): Record<string, unknown> {
  return Object.fromEntries(
    [...managers.values()].map(({ manager, operation, fields }) => [`${manager} ${operation}`, fields['f:spec']]),
  )
}

function refusal(act: () => unknown): StatusError {
  try {
    act()
  } catch (error) {
    if (error instanceof StatusError) return error
  }
  throw new Error('it was not refused')
}

const spec = ({ object }: State) => object?.['spec']

describe('applying', () => {
  it('creates, and owns exactly what it says', () => {
    const state = apply(nothing, 'one', sample({ replicas: 1, granular: { a: '1' } }, { labels: { l: '1' } }))
    expect(state.object).toEqual(sample({ replicas: 1, granular: { a: '1' } }, { labels: { l: '1' } }))
    expect(writeManagers(state.managers)).toEqual([
      {
        manager: 'one',
        operation: 'Apply',
        apiVersion: 'test.dev/v1',
        time: '2030-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { 'f:l': {} } },
          'f:spec': { 'f:replicas': {}, 'f:granular': { 'f:a': {} } },
        },
      },
    ])
  })

  it('shares a field with whoever says the same', () => {
    const one = apply(nothing, 'one', sample({ replicas: 1 }))
    const two = apply(one, 'two', sample({ replicas: 1 }))
    expect(owned(two)).toEqual({ 'one Apply': { 'f:replicas': {} }, 'two Apply': { 'f:replicas': {} } })
    // It changed nothing, so it has no time.
    expect([...two.managers.values()].map(({ time }) => time)).toEqual(['2030-01-01T00:00:00Z', undefined])
  })

  it('removes what it said before, but not what another one says too', () => {
    const one = apply(nothing, 'one', sample({ replicas: 1, granular: { a: '1', b: '2' }, tags: ['x', 'y'] }))
    const two = apply(one, 'two', sample({ granular: { b: '2' }, tags: ['y'] }))
    const left = apply(two, 'one', sample({ paused: true }))
    expect(spec(left)).toEqual({ paused: true, granular: { b: '2' }, tags: ['y'] })
  })

  it('leaves alone what it never said', () => {
    const updated = update(nothing, 'someone', sample({ replicas: 1, granular: { z: '0' } }))
    const applied = apply(updated, 'one', sample({ granular: { a: '1' } }))
    expect(spec(apply(applied, 'one', sample({ granular: {} })))).toEqual({ replicas: 1, granular: { z: '0' } })
  })

  it('is refused when another one says otherwise, naming every field and its manager', () => {
    const one = apply(nothing, 'one', sample({ replicas: 1, containers: [{ name: 'c', image: 'a' }], tags: ['x'] }))
    const updated = update(
      one,
      'up',
      sample({ replicas: 1, paused: true, containers: [{ name: 'c', image: 'a' }], tags: ['x'] }),
    )
    const manifest = sample({ replicas: 2, paused: false, containers: [{ name: 'c', image: 'b' }], tags: ['y'] })
    const error = refusal(() => apply(updated, 'two', manifest))
    expect(error.toStatus()).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      reason: 'Conflict',
      code: 409,
      message: [
        'Apply failed with 3 conflicts: conflicts with "one":',
        '- .spec.replicas',
        '- .spec.containers[name="c"].image',
        'conflicts with "up" using test.dev/v1:',
        '- .spec.paused',
      ].join('\n'),
      details: {
        causes: [
          { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.replicas' },
          { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.containers[name="c"].image' },
          { reason: 'FieldManagerConflict', message: 'conflict with "up" using test.dev/v1', field: '.spec.paused' },
        ],
      },
    })
  })

  it('takes by force what another one has', () => {
    const one = apply(nothing, 'one', sample({ replicas: 1, paused: true }))
    const two = apply(one, 'two', sample({ replicas: 2 }), { force: true })
    expect(spec(two)).toEqual({ replicas: 2, paused: true })
    expect(owned(two)).toEqual({ 'one Apply': { 'f:paused': {} }, 'two Apply': { 'f:replicas': {} } })
  })

  it('names one conflict in one line', () => {
    const one = apply(nothing, 'one', sample({ replicas: 1 }))
    const error = refusal(() => apply(one, 'two', sample({ replicas: 2 })))
    expect(error.message).toBe('Apply failed with 1 conflict: conflict with "one": .spec.replicas')
  })

  it('finds an owner for what was there before anybody applied', () => {
    const error = refusal(() =>
      apply({ object: sample({ replicas: 1 }), managers: new Map() }, 'one', sample({ replicas: 2 })),
    )
    expect(error.message).toContain('conflict with "before-first-apply" using test.dev/v1: .spec.replicas')
    const joined = apply({ object: sample({ replicas: 1 }), managers: new Map() }, 'one', sample({ paused: true }))
    expect(owned(joined)).toEqual({
      'before-first-apply Update': { '.': {}, 'f:replicas': {} },
      'one Apply': { 'f:paused': {} },
    })
  })

  it.each<[string, JsonObject, string]>([
    ['another kind', { ...sample(), kind: 'Other' }, 'invalid object type: test.dev/v1, Kind=Other'],
    ['no kind', {}, 'invalid object type: /, Kind='],
    ['managed fields', sample(undefined, { managedFields: [] }), 'metadata.managedFields must be nil'],
    [
      'unknown fields',
      sample({ nope: 1 }),
      'failed to create typed patch object (/s; test.dev/v1, Kind=Sample): .spec.nope: field not declared in schema',
    ],
  ])('refuses %s', (_name, manifest, message) => {
    const error = refusal(() => apply(nothing, 'one', manifest))
    expect(error).toMatchObject({ code: 400, message })
  })
})

describe('what kubectl applied without the server', () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration'
  const client = (replicas: number) => {
    const text = JSON.stringify(sample({ replicas }))
    return update(nothing, 'kubectl-client-side-apply', sample({ replicas }, { annotations: { [annotation]: text } }))
  }

  it('goes on with the server without conflict, and the annotation with it', () => {
    const state = apply(client(1), 'kubectl', sample({ replicas: 2 }))
    expect(spec(state)).toEqual({ replicas: 2 })
    expect(state.object?.['metadata']).toMatchObject({
      annotations: {
        [annotation]: '{"apiVersion":"test.dev/v1","kind":"Sample","metadata":{"name":"s"},"spec":{"replicas":2}}\n',
      },
    })
  })

  it('is in conflict where somebody changed it since', () => {
    const before = client(1)
    const changed = update(before, 'up', { ...before.object, spec: { replicas: 5 } })
    expect(refusal(() => apply(changed, 'kubectl', sample({ replicas: 2 }))).message).toContain('conflict with "up"')
  })

  it('is nobody else’s to go on with', () => {
    expect(refusal(() => apply(client(1), 'other', sample({ replicas: 2 }))).reason).toBe('Conflict')
  })
})

describe('any manifests', () => {
  const letters = fc.constantFrom('a', 'b', 'c', 'd')
  const dictionary = fc.dictionary(letters, fc.constantFrom('1', '2'), { minKeys: 1, maxKeys: 3 })
  const items = (names: fc.Arbitrary<string>) =>
    fc.uniqueArray(fc.record({ name: names, image: fc.constantFrom('i', 'j') }), {
      selector: ({ name }) => name,
      minLength: 1,
    })
  const anySpec = fc.record(
    {
      replicas: fc.nat(3),
      paused: fc.boolean(),
      granular: dictionary,
      atomic: dictionary,
      tags: fc.uniqueArray(letters, { minLength: 1 }),
      plain: fc.array(letters),
      containers: items(letters),
      free: fc
        .record({ x: dictionary, y: fc.array(fc.nat(3)) }, { requiredKeys: [] })
        .filter((value) => Object.keys(value).length > 0),
    },
    { requiredKeys: [] },
  )

  it('applied twice change nothing the second time', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (first, second) => {
        const before = apply(nothing, 'one', sample(first))
        const once = apply(before, 'two', sample(second), { force: true })
        const twice = apply(once, 'two', sample(second), { now: start + 60_000 })
        expect(twice.object).toEqual(once.object)
        expect(writeManagers(twice.managers)).toEqual(writeManagers(once.managers))
      }),
    )
  })

  it('taken back leave what was there before', () => {
    fc.assert(
      fc.property(anySpec, anySpec, fc.boolean(), (first, second, shares) => {
        const base = update(nothing, 'base', sample({ ...first, port: 1 }))
        const applied = apply(base, 'one', sample(withoutContradiction(first, second, shares)))
        const after = apply(applied, 'one', sample(undefined))
        expect(inAnyOrder(after.object)).toEqual(inAnyOrder(base.object))
        expect(after.managers).toEqual(base.managers)
      }),
    )
  })

  it('of two managers with different fields can be applied in either order', () => {
    const disjoint = anySpec.chain((whole) =>
      fc.subarray(Object.keys(whole)).map((keys) => {
        const mine = Object.entries(whole).filter(([key]) => keys.includes(key))
        const yours = Object.entries(whole).filter(([key]) => !keys.includes(key))
        return [Object.fromEntries(mine), Object.fromEntries(yours)] as const
      }),
    )
    fc.assert(
      fc.property(disjoint, ([mine, yours]) => {
        const one = apply(apply(nothing, 'mine', sample(mine)), 'yours', sample(yours))
        const other = apply(apply(nothing, 'yours', sample(yours)), 'mine', sample(mine))
        expect(one.object).toEqual(other.object)
        expect(owned(one)).toEqual(owned(other))
      }),
    )
  })

  /**
   * A manifest that can be applied beside another without conflict: new fields, keys and items, and the same values
   * where both have them.
   */
  function withoutContradiction(there: JsonObject, next: JsonObject, shares: boolean): JsonObject {
    const fields = Object.entries(next).flatMap(([field, value]): Array<[string, unknown]> => {
      const taken = there[field]
      if (taken === undefined) return [[field, value]]
      if (field === 'granular' && isJsonObject(taken) && isJsonObject(value)) return [[field, { ...value, ...taken }]]
      if (field === 'tags') return [[field, value]]
      if (field === 'containers' && Array.isArray(taken) && Array.isArray(value)) {
        const names = new Set(taken.map(({ name }: { name: string }) => name))
        return [[field, value.filter(({ name }: { name: string }) => !names.has(name))]]
      }
      return shares ? [[field, taken]] : []
    })
    return Object.fromEntries(fields)
  }

  /** Applying may reorder the items of a list, and undoing it does not restore the order. */
  function inAnyOrder(value: unknown): unknown {
    if (Array.isArray(value))
      return value.map(inAnyOrder).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, inAnyOrder(inner)]))
  }
})
