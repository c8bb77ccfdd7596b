import { expect, it } from 'vitest'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { finish } from '../writing/write-phases.ts'
import { checkDefinition } from './check-definition.ts'

/** Counts the different schemas that were looked at since it was last asked. */
class Looks {
  #seen = new Set<object>()

  take(): number {
    const { size } = this.#seen
    this.#seen = new Set()
    return size
  }

  at<T extends object>(schema: T): T {
    return new Proxy(schema, {
      get: (target, field, receiver): unknown => {
        this.#seen.add(target)
        return Reflect.get(target, field, receiver)
      },
    })
  }
}

function definition(spec: object): KubernetesObject {
  const schema = { type: 'object', properties: { spec } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  }
}

/** Judges a definition; returns the most that one phase looked at, and what came out. */
function judge(looks: Looks, object: KubernetesObject) {
  const phases = checkDefinition(object, undefined)
  let most = 0
  for (;;) {
    const step = phases.next()
    most = Math.max(most, looks.take())
    if (step.done) return { most, faults: step.value }
  }
}

const count = 6_000
const fields = (schema: (index: number) => object) =>
  Object.fromEntries(Array.from({ length: count }, (_none, index) => [`f${index}`, schema(index)]))

const wide: ReadonlyArray<readonly [what: string, spec: (looks: Looks) => object]> = [
  ['fields', (looks) => ({ type: 'object', properties: fields(() => looks.at({ type: 'string' })) })],
  [
    'objects with a field each',
    (looks) => ({
      type: 'object',
      properties: fields(() => looks.at({ type: 'object', properties: { a: { type: 'string' } } })),
    }),
  ],
  [
    'fields of an alternative',
    (looks) => ({
      type: 'object',
      properties: fields(() => ({ type: 'string' })),
      anyOf: [{ properties: fields(() => looks.at({ maxLength: 1 })) }],
    }),
  ],
  ['alternatives', (looks) => ({ type: 'string', anyOf: Object.values(fields(() => looks.at({ maxLength: 1 }))) })],
  ['defaults', (looks) => ({ type: 'object', properties: fields(() => looks.at({ type: 'string', default: 'a' })) })],
]

it.each(wide)('a definition of very many %s is judged in phases of few of them', (_what, spec) => {
  const looks = new Looks()
  const { most, faults } = judge(looks, definition(spec(looks)))
  expect(faults).toEqual([])
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(2_000)
})

it('each rule of a definition is compiled in a phase of its own', () => {
  const rules = Array.from({ length: 200 }, (_none, index) => ({ rule: `self != 'x${index}'` }))
  const phases = checkDefinition(definition({ type: 'string', 'x-kubernetes-validations': rules }), undefined)
  let pauses = 0
  while (!phases.next().done) pauses += 1
  expect(pauses).toBeGreaterThanOrEqual(rules.length)
})

it('what is wrong with the first of very many fields is found, and no more of it than anybody reads', () => {
  const faults = finish(checkDefinition(definition({ type: 'object', properties: fields(() => ({})) }), undefined))
  expect(faults).toHaveLength(100)
  expect(faults[0]).toMatchObject({
    reason: 'FieldValueRequired',
    field: 'spec.validation.openAPIV3Schema.properties[spec].properties[f0].type',
  })
})
