import { describe, expect, it } from 'vitest'
import { toGbnfSchema } from './json-schema.ts'

const properties = (count: number, schema: object = { type: 'null' }) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, schema]))
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
    [{ type: 'string', pattern: '^(?=a)' }, 'schema.pattern'],
    [{ type: 'string', pattern: String.raw`(a)\1` }, 'schema.pattern'],
    [{ type: 'string', pattern: '^a*$', maxLength: 5 }, 'schema.maxLength'],
    [{ type: 'integer', minimum: 5, maximum: 4 }, 'schema'],
    [{ type: 'integer', multipleOf: 3 }, 'schema'],
    [{ type: 'number', multipleOf: 0.3 }, 'schema'],
    [{ type: 'object', properties: { a: { allOf: [] } } }, 'schema.properties.a'],
    [{ allOf: [{ type: 'string' }, { type: 'null' }] }, 'schema'],
    [{ type: 'array', items: { type: 'string', format: 'iban' } }, 'schema.items.format'],
    [{ type: 'array', items: { type: 'string' }, uniqueItems: true }, 'schema.uniqueItems'],
    [{ type: 'money' }, 'schema'],
    [{ $ref: 'https://host.example/schema' }, 'schema'],
    [{ anyOf: [{ not: {} }, { type: 'string', pattern: '(?!a)' }] }, 'schema.anyOf[0].not'],
    [false, 'schema'],
  ])('refuses %o, pointing at %s', (schema, param) => {
    expect(() => convert(schema)).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', details: expect.objectContaining({ param }) }),
    )
  })

  it.each([
    ['20001 enum values', { enum: Array.from({ length: 20_001 }, (_, n) => n) }, /more than 20000 enum values/],
    ['long enum values', { enum: Array.from({ length: 30 }, (_, n) => 'x'.repeat(20_000) + n) }, /characters/],
    ['5001 properties', { type: 'object', properties: properties(5001) }, /more than 5000 properties/],
    ['257 definitions', { type: 'null', $defs: properties(257) }, /definitions/],
    ['many repetitions', { type: 'object', properties: properties(11, { type: 'string', maxLength: 1000 }) }, /repet/],
    ['many repetitions in patterns', { type: 'string', pattern: `^${'a{0,999}'.repeat(11)}$` }, /repet/],
    [
      'many limits',
      {
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 3000 }, (_, n) => [
            `p${n}`,
            { type: 'integer', minimum: n + 1, maximum: 10_000_000 + n },
          ]),
        ),
      },
      /characters of rules/,
    ],
    [
      'many alternatives',
      { anyOf: Array.from({ length: 20_001 }, () => ({ type: 'null' })) },
      /more than 20000 schemas/,
    ],
  ])('refuses a schema with %s, and says what to do', (_, schema, message) => {
    expect(() => convert(schema)).toThrow(message)
    expect(() => convert(schema)).toThrow(/Make it smaller/)
  })

  it('takes what OpenAI takes', () => {
    const values = Array.from({ length: 1000 }, (_, n) => `${n}`.padStart(50, 'x'))
    expect(() => convert({ type: 'object', properties: { ...properties(4999), e: { enum: values } } })).not.toThrow()
  })

  it.each([[-1], [1.5], ['9'], [1001]])('refuses to repeat something %j times', (maxItems) => {
    expect(() => convert({ type: 'array', items: { type: 'null' }, maxItems })).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ param: 'schema.maxItems' }) }),
    )
  })

  it('refuses a schema that nests without end', () => {
    let schema: object = { type: 'string' }
    for (let depth = 0; depth < 40; depth++) schema = { type: 'array', items: schema }
    expect(() => convert(schema)).toThrow(/nested deeper/)
  })
})
