import { describe, expect, it } from 'vitest'
import { coreSchema } from '../../../resources/facts/core-facts.ts'
import type { JsonObject } from '../../../resources/json-value.ts'
import { compareObjects } from './compare-objects.ts'
import { shapeOf } from './field-shape.ts'
import { checkManifest } from '../../bodies/manifest-check.ts'
import { mergeObjects } from './merge-objects.ts'
import { ownedFields } from './owned-fields.ts'
import { removeFields } from './remove-fields.ts'
import { fieldSet, inSpec, sample, sampleShape } from './sample-kind.fixture.ts'

const names = (spec: JsonObject) => (spec['containers'] as Array<{ name: string }>).map(({ name }) => name).join('')
const containers = (order: string, image = 'i') => order.split('').map((name) => ({ name, image }))

describe('comparing', () => {
  const compare = (before: JsonObject, after: JsonObject) => compareObjects(sample(before), sample(after), sampleShape)

  it.each<[string, JsonObject, JsonObject, ReturnType<typeof compare>]>([
    ['the same', { replicas: 1, plain: ['a'] }, { replicas: 1, plain: ['a'] }, {}],
    ['a changed value', { replicas: 1 }, { replicas: 2 }, { modified: inSpec('f:replicas') }],
    ['an added field', { replicas: 1 }, { replicas: 1, paused: true }, { added: inSpec('f:paused') }],
    [
      'an added map: itself and what is in it',
      { replicas: 1 },
      { replicas: 1, granular: { a: '1' } },
      { added: inSpec('f:granular', 'f:granular f:a') },
    ],
    [
      'a removed key',
      { granular: { a: '1', b: '2' } },
      { granular: { a: '1' } },
      { removed: inSpec('f:granular f:b') },
    ],
    ['an atomic map is one piece', { atomic: { a: '1' } }, { atomic: { a: '2' } }, { modified: inSpec('f:atomic') }],
    ['an atomic list is one piece', { plain: ['a'] }, { plain: ['a', 'b'] }, { modified: inSpec('f:plain') }],
    [
      'items of a set',
      { tags: ['a', 'b'] },
      { tags: ['b', 'c'] },
      { added: inSpec('f:tags v:"c"'), removed: inSpec('f:tags v:"a"') },
    ],
    ['the order of named items', { containers: containers('ab') }, { containers: containers('ba') }, {}],
    [
      'an item whose key has a default',
      { ports: [{ port: 80 }] },
      { ports: [{ port: 80, protocol: 'TCP', name: 'web' }] },
      {
        added: inSpec(
          'f:ports k:{"port":80,"protocol":"TCP"} f:protocol',
          'f:ports k:{"port":80,"protocol":"TCP"} f:name',
        ),
      },
    ],
    ['free-form fields', { free: { a: { b: 1 } } }, { free: { a: { b: 2 } } }, { modified: inSpec('f:free f:a f:b') }],
    ['an int or a string', { port: 80 }, { port: 'web' }, { modified: inSpec('f:port') }],
    [
      'items named twice are one piece',
      { containers: containers('a') },
      { containers: containers('aa') },
      {
        added: inSpec('f:containers k:{"name":"a"}'),
        removed: inSpec(
          'f:containers k:{"name":"a"}',
          'f:containers k:{"name":"a"} f:name',
          'f:containers k:{"name":"a"} f:image',
        ),
      },
    ],
    [
      'an object that becomes a list',
      { free: { a: { b: 1 } } },
      { free: { a: [1] } },
      { removed: inSpec('f:free f:a f:b'), modified: inSpec('f:free f:a') },
    ],
  ])('%s', (_name, before, after, expected) => {
    const { added, modified, removed } = compare(before, after)
    expect({ added, modified, removed }).toEqual({
      added: undefined,
      modified: undefined,
      removed: undefined,
      ...expected,
    })
  })

  it('never speaks of the name, the version and what else the server keeps', () => {
    const kept = { uid: 'u', resourceVersion: '1', generation: 1, creationTimestamp: 't', namespace: 'n' }
    const { added } = compareObjects(undefined, sample(undefined, { ...kept, labels: { a: 'b' } }), sampleShape)
    expect(added).toEqual(fieldSet('f:metadata f:labels', 'f:metadata f:labels f:a'))
  })

  it('counts what Go always writes as there from the beginning', () => {
    const deployment = {
      metadata: { name: 'd' },
      spec: {
        selector: {},
        template: { spec: { containers: [{ name: 'c', resources: {} }] } },
        strategy: { type: 'Recreate' },
      },
    }
    expect(compareObjects(undefined, deployment, shapeOf(coreSchema('apps', 'v1', 'Deployment'))).added).toEqual({
      'f:spec': {
        'f:strategy': { 'f:type': {} },
        'f:template': {
          'f:spec': { 'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:name': {}, 'f:resources': {} } } },
        },
      },
    })
  })
})

describe('the fields of a manifest', () => {
  it('are its leaves, the items of its lists, and what it says is empty', () => {
    const manifest = sample({
      replicas: 1,
      nested: {},
      granular: { a: '1' },
      containers: containers('a'),
      tags: ['t'],
      plain: [],
    })
    expect(ownedFields(manifest, sampleShape)?.['f:spec']).toEqual({
      'f:replicas': {},
      'f:nested': {},
      'f:granular': { 'f:a': {} },
      'f:containers': { 'k:{"name":"a"}': { '.': {}, 'f:name': {}, 'f:image': {} } },
      'f:tags': { 'v:"t"': {} },
      'f:plain': {},
    })
  })
})

describe('merging', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['fields', { replicas: 1, paused: true }, { replicas: 2 }, { replicas: 2, paused: true }],
    ['keys of a granular map', { granular: { a: '1' } }, { granular: { b: '2' } }, { granular: { a: '1', b: '2' } }],
    ['an atomic map', { atomic: { a: '1' } }, { atomic: { b: '2' } }, { atomic: { b: '2' } }],
    ['an atomic list', { plain: ['a', 'b'] }, { plain: ['c'] }, { plain: ['c'] }],
    ['a set', { tags: ['a', 'b'] }, { tags: ['c', 'b'] }, { tags: ['a', 'c', 'b'] }],
    [
      'an item found by the default of its key',
      { ports: [{ port: 80, protocol: 'TCP' }] },
      { ports: [{ port: 80, name: 'web' }] },
      { ports: [{ port: 80, protocol: 'TCP', name: 'web' }] },
    ],
    ['free-form objects', { free: { a: { b: 1 } } }, { free: { a: { c: 2 } } }, { free: { a: { b: 1, c: 2 } } }],
    ['an object over a list', { free: { a: [1] } }, { free: { a: { c: 2 } } }, { free: { a: { c: 2 } } }],
  ])('%s', (_name, live, applied, expected) => {
    expect(mergeObjects(sample(live), sample(applied), sampleShape)['spec']).toEqual(expected)
  })

  it.each([
    ['abc', 'ba', 'bca'],
    ['abc', 'c', 'abc'],
    ['abc', 'cxa', 'bcxa'],
    ['ab', 'xby', 'axby'],
    ['', 'ab', 'ab'],
    ['abcd', 'dcba', 'dcba'],
  ])('items %s with %s come as %s', (live, applied, expected) => {
    const [before, after] = [live, applied].map((order) => sample({ containers: containers(order) }))
    const { spec } = mergeObjects(before ?? {}, after ?? {}, sampleShape)
    expect(names(spec as JsonObject)).toBe(expected)
  })
})

describe('removing', () => {
  it('takes fields and items out, and nothing else', () => {
    const object = sample({ replicas: 1, granular: { a: '1', b: '2' }, containers: containers('ab'), tags: ['x', 'y'] })
    const fields = inSpec('f:replicas', 'f:granular f:a', 'f:containers k:{"name":"b"}', 'f:tags v:"x"')
    expect(removeFields(object, fields, sampleShape)['spec']).toEqual({
      granular: { b: '2' },
      containers: containers('a'),
      tags: ['y'],
    })
  })
})

describe('checking a manifest', () => {
  it.each<[JsonObject, string]>([
    [{ nope: 1 }, '.spec.nope: field not declared in schema'],
    [{ replicas: 'many' }, '.spec.replicas: expected numeric (int or float), got string'],
    [{ nested: { one: 1 } }, '.spec.nested.one: expected string, got &value.valueUnstructured{Value:1}'],
    [{ paused: 'no' }, '.spec.paused: expected boolean, got &{no}'],
    [{ granular: 'text' }, '.spec.granular: expected map, got &{text}'],
    [{ plain: 'text' }, '.spec.plain: expected list, got &{text}'],
    [{ containers: containers('aa') }, '.spec.containers: duplicate entries for key [name="a"]'],
    [{ containers: [{ name: 'a', x: 1 }] }, '.spec.containers[name="a"].x: field not declared in schema'],
    [{ containers: ['a'] }, '.spec.containers: element 0: associative list with keys may not have non-map elements'],
    [{ tags: [{}] }, ".spec.tags: element 0: associative list without keys has an element that's a map type"],
  ])('%j', (spec, expected) => {
    expect(checkManifest(sample(spec), sampleShape)).toEqual([expected])
  })

  it('has nothing against what fits', () => {
    const spec = {
      replicas: null,
      port: '80',
      free: { a: [{ b: 1 }] },
      ports: [{ port: 80 }, { port: 80, protocol: 'UDP' }],
    }
    expect(checkManifest(sample(spec), sampleShape)).toEqual([])
  })
})
