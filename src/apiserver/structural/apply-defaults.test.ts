import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { applyDefaults } from './apply-defaults.ts'
import { anySchema, anyValue } from './schema.fixture.ts'

describe('defaults', () => {
  it('are the same when they are applied again, and change nothing in place', () => {
    fc.assert(
      fc.property(anySchema, anyValue, (schema, value) => {
        const before = structuredClone(value)
        const once = applyDefaults(schema, value)
        expect(value).toEqual(before)
        expect(applyDefaults(schema, once)).toBe(once)
      }),
    )
  })

  const schema: StructuralSchema = {
    type: 'object',
    properties: {
      a: { type: 'string', default: 'A' },
      nested: { type: 'object', default: {}, properties: { n: { type: 'integer', default: 3 } } },
      bare: { type: 'object', properties: { n: { type: 'integer', default: 3 } } },
      maybe: { type: 'string', nullable: true, default: 'M' },
      list: { type: 'array', items: { type: 'object', properties: { k: { type: 'string', default: 'K' } } } },
      map: { type: 'object', additionalProperties: { type: 'string', default: 'V' } },
    },
  }

  it.each([
    [{}, { a: 'A', nested: { n: 3 }, maybe: 'M' }],
    [
      { a: null, maybe: null },
      { a: 'A', nested: { n: 3 }, maybe: null },
    ],
    [{ bare: {} }, { a: 'A', nested: { n: 3 }, maybe: 'M', bare: { n: 3 } }],
    [{ bare: null }, { a: 'A', nested: { n: 3 }, maybe: 'M' }],
    [{ list: [{}, null] }, { a: 'A', nested: { n: 3 }, maybe: 'M', list: [{ k: 'K' }, null] }],
    [{ map: { x: null, y: 'Y' } }, { a: 'A', nested: { n: 3 }, maybe: 'M', map: { x: 'V', y: 'Y' } }],
  ])('complete %j', (value, expected) => {
    expect(applyDefaults(schema, value)).toEqual(expected)
  })

  it('are copies', () => {
    const [one, other] = [applyDefaults(schema, {}), applyDefaults(schema, {})]
    expect(Reflect.get(Object(one), 'nested')).not.toBe(Reflect.get(Object(other), 'nested'))
  })
})
