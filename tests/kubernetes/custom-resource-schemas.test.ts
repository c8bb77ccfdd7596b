import { expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'
import { WidgetDefinition, causesOf, count, text, typeFault } from './widget-definition.ts'

/** Every keyword a schema can have. */
const properties = {
  text: { ...text, minLength: 3, maxLength: 5, pattern: '^a' },
  number: { type: 'number', minimum: 1, maximum: 5 },
  between: { type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: true },
  threes: { ...count, multipleOf: 3 },
  whole: count,
  flag: { type: 'boolean' },
  few: { type: 'array', minItems: 2, maxItems: 3, items: count },
  set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  map: {
    type: 'array',
    items: { type: 'object', required: ['k'], properties: { k: text, v: count } },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  },
  counts: { type: 'object', minProperties: 1, maxProperties: 2, additionalProperties: count },
  either: { 'x-kubernetes-int-or-string': true },
  letter: { ...text, enum: ['a', 'b'] },
  digit: { ...count, enum: [1, 2] },
  one: { type: 'object', properties: { a: text, b: text }, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
  any: { type: 'object', properties: { a: text, b: text }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
  all: { ...text, allOf: [{ minLength: 3 }, { pattern: '^z' }] },
  not: { ...text, not: { enum: ['bad'] } },
  embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  maybe: { ...text, nullable: true },
}
const formats = [
  'date-time',
  'date',
  'ipv4',
  'ipv6',
  'uri',
  'email',
  'uuid',
  'duration',
  'byte',
  'hostname',
  'cidr',
  'mac',
]

const shouldBe = (field: string, value: unknown, should: string) =>
  `${field} FieldValueInvalid Invalid value: ${JSON.stringify(value)}: ${field} in body should ${should}`
const combined = (field: string, sentence: string) =>
  `<nil> FieldValueInvalid Invalid value: "": "${field}" ${sentence}`

onEachServer((server) => {
  const definition = new WidgetDefinition(server)
  const path = definition.path.bind(definition)

  it('judges an object by its schema in the same words', async () => {
    const withFormats = Object.fromEntries(formats.map((format) => [`as-${format}`, { ...text, format }]))
    await definition.serve(definition.manifest({ ...properties, ...withFormats }))
    const cases: Array<[unknown, string[]]> = [
      ['text', [typeFault('spec', 'object', 'string')]],
      [{ text: 'a' }, [shouldBe('spec.text', 'a', 'be at least 3 chars long')]],
      [{ text: 'bbb' }, [shouldBe('spec.text', 'bbb', "match '^a'")]],
      [{ text: 'aäöüß€' }, ['spec.text FieldValueTooLong Too long: may not be more than 5 bytes']],
      [{ text: 1 }, [typeFault('spec.text', 'string', 'integer')]],
      [{ number: 0.5 }, [shouldBe('spec.number', 0.5, 'be greater than or equal to 1')]],
      [{ number: 9 }, [shouldBe('spec.number', 9, 'be less than or equal to 5')]],
      [{ number: 'x' }, [typeFault('spec.number', 'number', 'string')]],
      [{ between: 1 }, [shouldBe('spec.between', 1, 'be greater than 1')]],
      [{ between: 5 }, [shouldBe('spec.between', 5, 'be less than 5')]],
      [{ threes: 4 }, [shouldBe('spec.threes', 4, 'be a multiple of 3')]],
      [{ whole: 1.5 }, [typeFault('spec.whole', 'integer', 'number')]],
      [{ whole: true }, [typeFault('spec.whole', 'integer', 'boolean')]],
      [{ whole: [1] }, [typeFault('spec.whole', 'integer', 'array')]],
      [{ flag: 'true' }, [typeFault('spec.flag', 'boolean', 'string')]],
      [{ few: [1] }, ['spec.few FieldValueInvalid Invalid value: 1: spec.few in body should have at least 2 items']],
      [{ few: [1, 2, 3, 4] }, ['spec.few FieldValueTooMany Too many: 4: must have at most 3 items']],
      [{ few: [1, 'x'] }, [typeFault('spec.few[1]', 'integer', 'string')]],
      [{ few: [1, null] }, [typeFault('spec.few[1]', 'integer', 'null')]],
      [{ few: {} }, [typeFault('spec.few', 'array', 'object')]],
      [{ set: ['a', 'b', 'a'] }, ['spec.set[2] FieldValueDuplicate Duplicate value: "a"']],
      [
        { map: [{ k: 'a' }, { k: 'a', v: 2 }, { v: 1 }] },
        [
          'spec.map[1] FieldValueDuplicate Duplicate value: {"k":"a"}',
          'spec.map[2].k FieldValueRequired Required value',
        ],
      ],
      [
        { counts: {} },
        ['spec.counts FieldValueInvalid Invalid value: 0: spec.counts in body should have at least 1 properties'],
      ],
      [{ counts: { a: 1, b: 2, c: 3 } }, ['spec.counts FieldValueTooMany Too many: 3: must have at most 2 items']],
      [{ counts: { 'a.b/c': 'x' } }, [typeFault('spec.counts.a.b/c', 'integer', 'string')]],
      [{ either: true }, [typeFault('spec.either', 'integer,string', 'boolean')]],
      [{ either: 1.5 }, [typeFault('spec.either', 'integer,string', 'number')]],
      [{ letter: 'c' }, ['spec.letter FieldValueNotSupported Unsupported value: "c": supported values: "a", "b"']],
      [{ digit: 3 }, ['spec.digit FieldValueNotSupported Unsupported value: 3: supported values: "1", "2"']],
      [
        { letter: 5 },
        [
          'spec.letter FieldValueNotSupported Unsupported value: 5: supported values: "a", "b"',
          typeFault('spec.letter', 'string', 'integer'),
        ],
      ],
      [
        { one: {} },
        [
          combined('spec.one', 'must validate one and only one schema (oneOf). Found none valid'),
          'spec.one.a FieldValueRequired Required value',
        ],
      ],
      [
        { one: { a: '', b: '' } },
        [combined('spec.one', 'must validate one and only one schema (oneOf). Found 2 valid alternatives')],
      ],
      [
        { any: {} },
        [
          combined('spec.any', 'must validate at least one schema (anyOf)'),
          'spec.any.a FieldValueRequired Required value',
        ],
      ],
      [
        { all: 'x' },
        [
          combined('spec.all', 'must validate all the schemas (allOf). None validated'),
          shouldBe('spec.all', 'x', 'be at least 3 chars long'),
          shouldBe('spec.all', 'x', "match '^z'"),
        ],
      ],
      [{ not: 'bad' }, [combined('spec.not', 'must not validate the schema (not)')]],
      [
        { embedded: {} },
        [
          'spec.embedded.apiVersion FieldValueRequired Required value',
          'spec.embedded.kind FieldValueRequired Required value',
        ],
      ],
      [{ maybe: 5 }, [typeFault('spec.maybe', 'string', 'integer')]],
      ...formats.map((format): [unknown, string[]] => {
        const field = `as-${format}`
        return [
          { [field]: '%%' },
          [
            `spec.${field} FieldValueTypeInvalid Invalid value: "%%": spec.${field} in body must be of type ${format}: "%%"`,
          ],
        ]
      }),
    ]
    const judged: Array<[unknown, string[]]> = []
    for (const [spec] of cases) {
      const { code, body } = await server.http('POST', `${path()}?dryRun=All`, definition.widget('w', { spec }))
      expect([spec, code, body.reason]).toEqual([spec, 422, 'Invalid'])
      judged.push([spec, causesOf(body)])
    }
    expect(judged).toEqual(cases)
  })

  it('takes what its schema allows', async () => {
    const withFormats = Object.fromEntries(formats.map((format) => [`as-${format}`, { ...text, format }]))
    await definition.serve(
      definition.manifest({
        ...properties,
        ...withFormats,
        other: { ...text, format: 'of-ours' },
        wide: { ...count, format: 'int32' },
      }),
    )
    const spec = {
      text: 'aäöü€',
      number: 1,
      between: 1.5,
      threes: 9,
      few: [1, 2],
      set: ['a', 'b'],
      map: [{ k: 'a' }, { k: 'b' }],
      counts: { a: 1 },
      either: '50%',
      letter: 'b',
      one: { b: '' },
      any: { a: '', b: '' },
      all: 'zzz',
      not: 'good',
      maybe: null,
      other: 'anything',
      wide: 3_000_000_000,
      'as-date-time': '2030-01-01T00:00:00.5+02:00',
      'as-date': '2030-02-28',
      'as-ipv4': '127.0.0.1',
      'as-ipv6': '::1',
      'as-uri': 'https://example.com/a?b#c',
      'as-email': 'a@example.com',
      'as-uuid': '8c3e9d1c-5a0b-4f1e-9d3b-0123456789ab',
      'as-duration': '1h30m',
      'as-byte': 'aGVsbG8=',
      'as-hostname': 'a.example.com',
      'as-cidr': '10.0.0.0/8',
      'as-mac': '01:23:45:67:89:ab',
    }
    expect((await server.ok('POST', path(), definition.widget('w', { spec })))['spec']).toEqual(spec)
  })
})
