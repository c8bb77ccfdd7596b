import { describe, expect, it } from 'vitest'
import { toGbnfSchema } from './json-schema.ts'

const convert = (schema: unknown) => toGbnfSchema(schema, 'schema')

describe('toGbnfSchema', () => {
  it('keeps what a grammar can enforce', () => {
    const schema = {
      type: 'object',
      title: 'Thing',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 5, description: 'what it is called' },
        tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
        size: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null },
        next: { $ref: '#/definitions/Next' },
      },
      required: ['name'],
      additionalProperties: false,
      definitions: { Next: { const: 1 } },
    }
    expect(convert(schema)).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 5, description: 'what it is called' },
        tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
        size: { oneOf: [{ type: 'integer' }, { type: 'null' }] },
        next: { $ref: '#/$defs/Next' },
      },
      additionalProperties: false,
      $defs: { Next: { const: 1 } },
    })
  })

  it('splits a list of types that a single rule cannot hold', () => {
    expect(convert({ type: ['string', 'null'] })).toEqual({ type: ['string', 'null'] })
    expect(convert({ type: ['object', 'null'] })).toEqual({
      oneOf: [{ type: 'object', additionalProperties: true }, { type: 'null' }],
    })
  })

  it.each([
    [{ type: 'string', pattern: '^a' }, 'schema.pattern'],
    [{ type: 'integer', minimum: 1 }, 'schema.minimum'],
    [{ type: 'object', properties: { a: { allOf: [] } } }, 'schema.properties.a'],
    [{ type: 'array', items: { type: 'string', format: 'email' } }, 'schema.items.format'],
    [{ type: 'money' }, 'schema'],
    [{ enum: [{ a: 1 }] }, 'schema.enum'],
    [{ $ref: 'https://host.example/schema' }, 'schema'],
    [true, 'schema'],
  ])('refuses %o, pointing at %s', (schema, param) => {
    expect(() => convert(schema)).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', details: expect.objectContaining({ param }) }),
    )
  })

  it('refuses a schema that nests without end', () => {
    let schema: object = { type: 'string' }
    for (let depth = 0; depth < 40; depth++) schema = { type: 'array', items: schema }
    expect(() => convert(schema)).toThrow(/nested deeper/)
  })
})
