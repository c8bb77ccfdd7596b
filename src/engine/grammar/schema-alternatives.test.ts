import { describe, expect, it } from 'vitest'
import { toGbnfSchema } from './json-schema.ts'
import { checkAlternatives } from './schema-alternatives.ts'

const check = (schema: unknown) => checkAlternatives(toGbnfSchema(schema, 'schema'), 'schema')
const object = (properties: object) => ({ type: 'object', properties, additionalProperties: false })
const ref = (name: string) => ({ $ref: `#/$defs/${name}` })
const tooLarge = (message: RegExp) =>
  expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(message) })

describe('alternatives of a schema', () => {
  it('takes those that are told apart by their first character, name or constant, and what contains itself', () => {
    const tree = object({ value: { type: 'string' }, children: { type: 'array', items: ref('Tree') } })
    const list = object({ value: { type: 'integer' }, next: { anyOf: [ref('List'), { type: 'null' }] } })
    const expression = {
      anyOf: [
        object({ kind: { const: 'number' }, value: { type: 'number' } }),
        object({ kind: { const: 'sum' }, left: ref('Expression'), right: ref('Expression') }),
        object({ kind: { enum: ['not', 'minus'] }, of: ref('Expression') }),
        { type: 'array', items: ref('Expression') },
      ],
    }
    const kinds = Array.from({ length: 100 }, (_, kind) => object({ kind: { const: kind }, x: { type: 'null' } }))
    for (const schema of [
      { ...object({ t: ref('Tree'), l: ref('List') }), $defs: { Tree: tree, List: list } },
      { ...object({ e: ref('Expression') }), $defs: { Expression: expression } },
      { anyOf: kinds },
    ]) {
      expect(() => check(schema)).not.toThrow()
    }
  })

  it('refuses those that begin alike and multiply', () => {
    const twelve = (items: object) => ({
      anyOf: Array.from({ length: 12 }, (_, n) => ({ type: 'array', items, minItems: n })),
    })
    check(twelve({ type: 'string' }))
    expect(() => check(twelve(twelve({ type: 'string' })))).toThrow(tooLarge(/more than 128 alternatives/))
    const nested = { A: twelve(ref('B')), B: twelve({ type: 'string' }) }
    expect(() => check({ ...ref('A'), $defs: nested })).toThrow(tooLarge(/more than 128 alternatives/))
  })

  it.each([
    [
      'itself',
      {
        X: {
          anyOf: [
            { type: 'array', items: ref('X') },
            { type: 'array', items: ref('X'), minItems: 2 },
          ],
        },
      },
    ],
    [
      'itself by way of another that is known already',
      {
        X: object({ a: ref('Y'), b: { anyOf: [object({ c: ref('Y') }), object({ c: { type: 'string' } })] } }),
        Y: object({ d: { anyOf: [ref('X'), { type: 'null' }] } }),
      },
    ],
  ])('refuses one that contains %s among alternatives that begin alike', (_, $defs) => {
    expect(() => check({ ...ref('X'), $defs })).toThrow(tooLarge(/contains itself/))
  })

  it('ends for references in a circle, and for those to nothing', () => {
    expect(() => check({ ...ref('X'), $defs: { X: ref('Y'), Y: ref('X') } })).not.toThrow()
    expect(() => check({ anyOf: [ref('None'), ref('Neither')] })).not.toThrow()
  })
})
