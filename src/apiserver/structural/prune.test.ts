import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { isJsonObject } from '../../resources/json-value.ts'
import { fieldSchema, prune } from './prune.ts'
import { anySchema, anyValue } from './schema.fixture.ts'

/** The definition, as plainly as possible. */
function known(schema: StructuralSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = schema.items ?? (schema['x-kubernetes-preserve-unknown-fields'] ? schema : {})
    return value.map((item) => known(schema.items ? items : { ...items, properties: {} }, item))
  }
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).flatMap(([field, inner]): Array<[string, unknown]> => {
    const fields = fieldSchema(schema, field)
    return fields && field !== '__proto__' ? [[field, known(fields, inner)]] : []
  })
  return Object.fromEntries(entries)
}

describe('pruning', () => {
  it('keeps exactly the known fields', () => {
    fc.assert(
      fc.property(anySchema, anyValue, (schema, value) => {
        const before = structuredClone(value)
        const dropped: string[] = []
        const pruned = prune(schema, value, (path) => dropped.push(path))
        expect(pruned).toEqual(known(schema, value))
        expect(value).toEqual(before)
        // The very same value is returned when there was nothing to drop.
        expect(pruned === value).toBe(dropped.length === 0)
        expect(prune(schema, pruned, () => expect.fail('dropped twice'))).toBe(pruned)
      }),
    )
  })

  it('names what it drops, and does not look beneath', () => {
    const schema: StructuralSchema = {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'object', properties: { k: { type: 'string' } } } } },
    }
    const dropped: string[] = []
    prune(schema, { list: [{ k: '1' }, { q: { z: 1 } }], other: { deep: 1 } }, (path) => dropped.push(path))
    expect(dropped).toEqual(['list[1].q', 'other'])
  })
})
