import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../foundation/log.ts'
import { openLlama } from '../llama/llama-backend.ts'
import { AnswerGrammars, requireGrammar } from './answer-grammar.ts'

let grammars: AnswerGrammars

beforeAll(async () => {
  const { addon } = await openLlama([], { gpu: false, log: silentLogger, signal: new AbortController().signal })
  grammars = new AnswerGrammars(addon)
})

/** Asks llama.cpp itself whether its grammar of the schema admits a text. */
async function admission(schema: object): Promise<(value: unknown) => boolean> {
  const grammar = requireGrammar(await grammars.compile({ type: 'json_schema', schema, param: 'schema' }))
  return (value) => grammar.isTextCompatible(JSON.stringify(value))
}

const node = z.object({
  name: z.string(),
  get children() {
    return z.array(node)
  },
})

/** What zod writes, with values that it takes and values that it does not. */
const zodCases: ReadonlyArray<readonly [string, z.ZodType, readonly unknown[], readonly unknown[]]> = [
  ['whole numbers', z.int().min(-5).max(120), [-5, 0, 7, 99, 120], [-6, 121, 1.5, 1000, '7']],
  ['whole numbers above', z.int().positive(), [1, 9, 10, 123_456], [0, -1]],
  ['whole numbers below', z.int().negative(), [-1, -10], [0, 5]],
  ['numbers', z.number().min(0.5).max(2.25), [0.5, 0.75, 1, 2, 2.25, 2.2], [0.4, 0.49, 2.26, 3, -1]],
  ['numbers, bounds excluded', z.number().gt(0).lt(1), [0.1, 0.001, 0.999], [0, 1, -0.5]],
  ['multiples', z.int().min(0).max(50).multipleOf(5), [0, 5, 45, 50], [1, 7, 51, 55]],
  ['cents', z.number().multipleOf(0.01), [1, 0.5, 12.34, -3.1], [0.001, 1.234]],
  ['patterns', z.string().regex(/^[A-Z]{2}-\d{3,4}$/), ['AB-123', 'XY-0000'], ['ab-123', 'AB-12', 'AB-12345', '']],
  ['patterns within', z.string().regex(/cat|dog/), ['a cat', 'dog', 'hotdogs'], ['bird', '']],
  ['patterns with quotes', z.string().regex(/^"[^"\\]+"$/), ['"a"'], ['a', '""']],
  ['dates', z.iso.date(), ['2024-02-29', '2023-12-31'], ['2023-02-29', '2023-13-01', '23-1-1']],
  ['date-times', z.iso.datetime(), ['2024-02-29T23:59:59Z', '2020-01-01T00:00:00.123Z'], ['2020-01-01', 'now']],
  ['email addresses', z.email(), ['a@b.co', 'x.y+z@mail.example.org'], ['a', 'a@b', '.a@b.co', 'a..b@c.de']],
  ['uuids', z.uuid(), ['123e4567-e89b-42d3-a456-426614174000'], ['123e4567', '123e4567-e89b-92d3-a456-42661417400']],
  ['addresses', z.ipv4(), ['127.0.0.1', '255.255.255.255'], ['256.0.0.1', '1.2.3']],
  ['URLs', z.url(), ['https://example.com/a?b=c#d'], ['example', 'https://']],
  ['tuples', z.tuple([z.string(), z.int()]), [['a', 1]], [[1, 'a'], ['a']]],
  ['lists', z.array(z.boolean()).min(1).max(2), [[true], [true, false]], [[], [true, true, true]]],
  ['unions', z.union([z.string(), z.int(), z.null()]), ['a', 1, null], [1.5, true]],
  [
    'discriminated unions',
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), x: z.int() }),
      z.object({ kind: z.literal('b'), y: z.string() }),
    ]),
    [
      { kind: 'a', x: 1 },
      { kind: 'b', y: '' },
    ],
    [{ kind: 'a', y: '' }, { kind: 'c' }],
  ],
  [
    'intersections',
    z.intersection(z.object({ a: z.int() }), z.object({ b: z.string() })),
    [{ a: 1, b: '' }],
    [{ a: 1 }],
  ],
  ['nullable fields', z.object({ a: z.int().min(1).nullable() }), [{ a: null }, { a: 1 }], [{ a: 0 }, {}]],
  ['themselves', node, [{ name: 'a', children: [{ name: 'b', children: [] }] }], [{ name: 'a' }, { children: [] }]],
  ['records', z.record(z.string(), z.int()), [{}, { a: 1, b: 2 }], [{ a: 'x' }, []]],
  ['anything', z.object({ a: z.any() }), [{ a: [1, { b: null }] }, { a: 'x' }, { a: -1.5e3 }], [{}]],
  ['strict objects', z.strictObject({ a: z.string().max(3) }), [{ a: 'abc' }], [{ a: 'abcd' }, { a: '', b: 1 }]],
]

describe('grammars of what zod writes', () => {
  it.each(zodCases)('admit and refuse %s', async (_, schema, valid, invalid) => {
    const admits = await admission(z.toJSONSchema(schema))
    expect(valid.filter((value) => !schema.safeParse(value).success)).toEqual([])
    expect(valid.filter((value) => !admits(value))).toEqual([])
    expect(invalid.filter(admits)).toEqual([])
  })
})

/** As pydantic's `model_json_schema()` writes it. */
const pydantic = {
  $defs: {
    Color: { enum: ['red', 'green'], title: 'Color', type: 'string' },
    Item: {
      properties: {
        id: { format: 'uuid', title: 'Id', type: 'string' },
        price: {
          anyOf: [
            { minimum: 0, type: 'number' },
            { pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$', type: 'string' },
          ],
        },
        color: { allOf: [{ $ref: '#/$defs/Color' }], default: 'red' },
        parent: { anyOf: [{ $ref: '#/$defs/Item' }, { type: 'null' }], default: null },
      },
      required: ['id', 'price'],
      title: 'Item',
      type: 'object',
    },
  },
  properties: {
    items: { items: { $ref: '#/$defs/Item' }, maxItems: 3, minItems: 1, title: 'Items', type: 'array' },
    link: { format: 'uri', maxLength: 2083, minLength: 1, title: 'Link', type: 'string' },
    pair: { maxItems: 2, minItems: 2, prefixItems: [{ type: 'integer' }, { type: 'string' }], type: 'array' },
    size: { exclusiveMinimum: 0, maximum: 10, type: 'integer' },
    meta: { additionalProperties: true, type: 'object' },
    tag: { const: 'v1', type: 'string' },
  },
  required: ['items'],
  title: 'Order',
  type: 'object',
}

describe('grammars of what pydantic writes', () => {
  const item = { id: '123e4567-e89b-42d3-a456-426614174000', price: 1.5, color: 'green', parent: null }
  const order = { items: [item], link: 'https://a.example/', pair: [1, 'a'], size: 10, meta: { a: [1] }, tag: 'v1' }

  it('admit what is valid and refuse what is not', async () => {
    const admits = await admission(pydantic)
    const validator = z.fromJSONSchema(pydantic as never)
    expect(validator.safeParse(order).success).toBe(true)
    expect(admits(order)).toBe(true)
    expect(admits({ ...order, items: [{ ...item, parent: item }] })).toBe(true)
    const wrong = [
      { items: [] },
      { items: [{ ...item, price: -1 }] },
      { items: [{ ...item, color: 'blue' }] },
      { link: 'no' },
      { pair: ['a', 1] },
      { size: 0 },
      { size: 11 },
      { tag: 'v2' },
    ]
    expect(wrong.filter((fields) => admits({ ...order, ...fields }))).toEqual([])
  })

  it.each([
    [{ type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 9 }, [1, 9], [0, 10]],
    [{ type: ['integer', 'null'], minimum: 3, maximum: 5 }, [3, null], [2, 6]],
    [{ type: 'string', nullable: true, maxLength: 2 }, ['ab', null], ['abc']],
    [{ enum: [{ a: 1 }, [1, 2], 'x'] }, [{ a: 1 }, [1, 2], 'x'], [{ a: 2 }, []]],
    [{ minimum: 3, maximum: 4 }, [3, 3.5, 4], [2, 5]],
    [{ allOf: [{ minimum: 3 }, { maximum: 4 }], type: 'integer' }, [3, 4], [2, 5]],
    [
      { type: 'object', properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } } },
      [{ next: { next: null } }],
      [{}],
    ],
    [{ type: 'array', items: [{ type: 'null' }, { type: 'boolean' }] }, [[null, true]], [[true, null]]],
  ])('admit and refuse values of %j', async (schema, valid, invalid) => {
    const admits = await admission(schema)
    expect(valid.filter((value) => !admits(value))).toEqual([])
    expect(invalid.filter(admits)).toEqual([])
  })
})

describe('grammars of any limits', () => {
  const whole = fc.integer({ min: -2_000, max: 2_000 })

  it('admit exactly the whole numbers within them', async () => {
    const property = fc.asyncProperty(whole, whole, fc.array(whole, { maxLength: 8 }), async (one, other, values) => {
      const [minimum, maximum] = one < other ? [one, other] : [other, one]
      const admits = await admission({ type: 'integer', minimum, maximum })
      for (const value of [...values, minimum - 1, minimum, maximum, maximum + 1]) {
        expect([value, admits(value)]).toEqual([value, value >= minimum && value <= maximum])
      }
    })
    await fc.assert(property, { numRuns: 60, seed: 7 })
  })

  it('admit exactly the numbers within them', async () => {
    const hundredths = whole.map((value) => value / 100)
    const property = fc.asyncProperty(
      hundredths,
      hundredths,
      fc.boolean(),
      fc.boolean(),
      fc.array(hundredths, { maxLength: 8 }),
      async (one, other, withoutLow, withoutHigh, values) => {
        const [low, high] = one < other ? [one, other] : [other, one]
        fc.pre(low < high)
        const admits = await admission({
          type: 'number',
          [withoutLow ? 'exclusiveMinimum' : 'minimum']: low,
          [withoutHigh ? 'exclusiveMaximum' : 'maximum']: high,
        })
        for (const value of [...values, low, high, (low + high) / 2]) {
          const isAbove = withoutLow ? value > low : value >= low
          const isBelow = withoutHigh ? value < high : value <= high
          // Zero is written without a sign, and longer fractions than a number keeps are not written.
          if (Object.is(value, -0) || String(value).length > 17) continue
          expect([value, admits(value)]).toEqual([value, isAbove && isBelow])
        }
      },
    )
    await fc.assert(property, { numRuns: 60, seed: 7 })
  })

  it('admit exactly the texts that a pattern matches', async () => {
    const patterns = [
      '^a{2,3}b?$',
      '^(ab|c)+$',
      '[0-9]+$',
      '^x.y',
      String.raw`^\w+\s\W$`,
      '^[^a-c]*$',
      '',
      '^$',
      'a|^b$',
    ]
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'x', 'y', '1', ' ', '-', '"', '\\'), maxLength: 6 })
    for (const pattern of patterns) {
      const admits = await admission({ type: 'string', pattern })
      const matches = new RegExp(pattern, 'u')
      const property = fc.property(text, (value) => {
        expect([value, admits(value)]).toEqual([value, matches.test(value)])
      })
      fc.assert(property, { numRuns: 60, seed: 7 })
    }
  })
})
