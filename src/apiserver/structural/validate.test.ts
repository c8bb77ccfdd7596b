import { describe, expect, it } from 'vitest'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { checkObject } from './check-object.ts'
import { finish } from '../writing/write-phases.ts'
import { validate } from './validate.ts'

// What each keyword says, word by word, is shown in
// tests/kubernetes/custom-resource-schemas.test.ts, on a real server too.

const texts: StructuralSchema = { type: 'array', items: { type: 'string', maxLength: 1 } }

describe('validation', () => {
  it('tells no more faults than anybody reads', () => {
    const errors = validate(
      { type: 'object', properties: { texts } },
      { texts: Array.from({ length: 5000 }, () => 'long') },
    )
    expect(errors).toHaveLength(100)
  })

  it('does not repeat a large value in what it says', () => {
    const [error] = validate({ type: 'string', pattern: '^a' }, 'x'.repeat(1_000_000))
    expect(error?.message.length).toBeLessThan(5000)
  })

  it('leaves alone what an update did not change', () => {
    const schema: StructuralSchema = {
      type: 'object',
      properties: {
        named: {
          type: 'array',
          items: {
            type: 'object',
            required: ['n'],
            properties: { n: { type: 'string' }, v: { type: 'string', maxLength: 1 } },
          },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['n'],
        },
        plain: texts,
      },
    }
    const before = { named: [{ n: 'a', v: 'long' }], plain: ['long'] }
    const fields = (next: unknown) => validate(schema, next, before).map(({ field }) => field)
    expect(fields(before)).toEqual([])
    // An item of a map is recognized by its key; items of other lists are not.
    expect(
      fields({
        named: [
          { n: 'b', v: 'x' },
          { n: 'a', v: 'long' },
        ],
        plain: ['long'],
      }),
    ).toEqual([])
    expect(fields({ named: before.named, plain: ['x', 'long'] })).toEqual(['plain[1]'])
    expect(fields({ named: [{ n: 'a', v: 'longer' }], plain: ['long'] })).toEqual(['named[0].v'])
  })

  it('does not run rules over an object of another shape', () => {
    const schema: StructuralSchema = {
      type: 'object',
      properties: { a: { type: 'integer' } },
      'x-kubernetes-validations': [{ rule: 'self.a > 1' }],
    }
    expect(finish(checkObject(schema, { a: 'x' })).map(({ field }) => field)).toEqual(['a', '<nil>'])
    expect(finish(checkObject(schema, { a: 1 })).map(({ message }) => message)).toEqual([
      'Invalid value: "object": failed rule: self.a > 1',
    ])
    expect(finish(checkObject(schema, { a: 2 }))).toEqual([])
  })
})
