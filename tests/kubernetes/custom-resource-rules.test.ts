import { describe, expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'
import { WidgetDefinition, causesOf, definitionsPath, schemaOf } from './widget-definition.ts'

const text = { type: 'string' }
const count = { type: 'integer' }
const rules = (...all: Array<Record<string, unknown>>) => ({ 'x-kubernetes-validations': all })
const notChecked =
  '<nil> FieldValueInvalid Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

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

const typeFault = (field: string, type: string, found: string) =>
  `${field} FieldValueTypeInvalid Invalid value: "${found}": ${field} in body must be of type ${type}: "${found}"`
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

  describe('rules', () => {
    const list = {
      type: 'array',
      maxItems: 10,
      items: {
        type: 'object',
        required: ['n'],
        properties: { n: { ...text, maxLength: 10 }, x: count },
        ...rules(
          { rule: "self.n != 'bad'", fieldPath: '.n', reason: 'FieldValueDuplicate' },
          { rule: '!has(self.x) || self.x > 1', fieldPath: '.x', reason: 'FieldValueRequired', message: 'more of x' },
        ),
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['n'],
    }
    const ruled = {
      a: { ...count, ...rules({ rule: 'self > 0' }, { rule: 'self >= oldSelf', message: 'never less' }) },
      b: count,
      m: {
        type: 'object',
        maxProperties: 10,
        additionalProperties: {
          ...text,
          maxLength: 10,
          ...rules({ rule: "self.startsWith('a')", messageExpression: "'not ' + self", reason: 'FieldValueForbidden' }),
        },
      },
      l: list,
      d: { ...count, ...rules({ rule: '10 / self > 0' }) },
      o: { ...text, ...rules({ rule: 'self == oldSelf.orValue(self)', optionalOldSelf: true }) },
      'a-b': text,
    }
    const spec = {
      type: 'object',
      properties: ruled,
      ...rules(
        { rule: '!has(self.b) || self.a <= self.b', message: 'a over b', fieldPath: '.a' },
        { rule: "!has(self.a__dash__b) || self.a__dash__b == 'x'" },
        { rule: 'self.l.all(i, i.x < 5)' },
      ),
    }
    const whole = rules({ rule: 'self.metadata.name.size() < 9', message: 'too long a name' })

    it('are judged when an object comes, and when it changes', async () => {
      await definition.serve(definition.manifest({}, schemaOf({ spec }, whole)))
      const judge = async (given: Record<string, unknown>, name = 'w') => {
        const { code, body } = await server.http(
          'POST',
          `${path()}?dryRun=All`,
          definition.widget(name, { spec: given }),
        )
        return code === 201 ? ['accepted'] : causesOf(body)
      }
      const invalid = (field: string, type: string, why: string) => [
        `${field} FieldValueInvalid Invalid value: "${type}": ${why}`,
      ]
      expect(await judge({ a: 1, l: [] })).toEqual(['accepted'])
      expect(await judge({ a: 1, l: [] }, 'a-long-name')).toEqual(invalid('<nil>', 'object', 'too long a name'))
      expect(await judge({ a: 0, l: [] })).toEqual(invalid('spec.a', 'integer', 'failed rule: self > 0'))
      expect(await judge({ a: 5, b: 3, l: [] })).toEqual(invalid('spec.a', 'object', 'a over b'))
      expect(await judge({ a: 1 })).toEqual(
        invalid('spec', 'object', 'no such key: l evaluating rule: self.l.all(i, i.x < 5)'),
      )
      expect(await judge({ a: 1, l: [], m: { 'k.y': 'b' } })).toEqual([
        'spec.m[k.y] FieldValueForbidden Forbidden: not b',
      ])
      expect(
        await judge({
          a: 1,
          l: [
            { n: 'bad', x: 1 },
            { n: 'q', x: 9 },
          ],
        }),
      ).toEqual([
        ...invalid('spec', 'object', 'failed rule: self.l.all(i, i.x < 5)'),
        'spec.l[0].n FieldValueDuplicate Duplicate value: "object"',
        'spec.l[0].x FieldValueRequired Required value: more of x',
      ])
      expect(await judge({ a: 1, l: [], d: 0 })).toEqual(
        invalid('spec.d', 'integer', 'division by zero evaluating rule: 10 / self > 0'),
      )
      expect(await judge({ a: 1, l: [], 'a-b': 'y' })).toEqual(
        invalid('spec', 'object', "failed rule: !has(self.a__dash__b) || self.a__dash__b == 'x'"),
      )
      expect(await judge({ a: 'x', l: [], d: 0 })).toEqual([notChecked, typeFault('spec.a', 'integer', 'string')])

      await server.ok('POST', path(), definition.widget('w', { spec: { a: 5, o: '1', l: [{ n: 'q', x: 3 }] } }))
      const change = async (given: Record<string, unknown>) =>
        causesOf((await server.patch(path('/w'), 'merge', { spec: given })).body)
      expect(await change({ a: 3 })).toEqual(invalid('spec.a', 'integer', 'never less'))
      expect(await change({ o: '2' })).toEqual(
        invalid('spec.o', 'string', 'failed rule: self == oldSelf.orValue(self)'),
      )
      expect(await change({ a: 6 })).toEqual([])
    })

    it('use the functions of Kubernetes', async () => {
      const holding = [
        "'ABC'.lowerAscii() == 'abc' && ' x '.trim() == 'x' && 'a,b'.split(',') == ['a', 'b'] && 'aXa'.replace('a', 'b') == 'bXb'",
        "'abc'.matches('^[a-c]+$') && 'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
        "'abcd'.substring(1, 3) == 'bc' && 'abcb'.indexOf('b') == 1 && 'abc'.charAt(1) == 'b'",
        '[1, 2, 3].isSorted() && [1, 2, 3].sum() == 6 && [1, 2, 3].min() == 1 && [1, 2, 3].max() == 3 && [1, 2].indexOf(2) == 1',
        '[1, 2].exists(x, x > 1) && [1, 2].exists_one(x, x > 1) && [1, 2].map(x, x * 2) == [2, 4] && [1, 2].filter(x, x > 1).size() == 1',
        "quantity('1500m').isLessThan(quantity('2')) && quantity('1Ki').asInteger() == 1024 && isQuantity('1Gi') && !isQuantity('x')",
        "url('https://a.b:81/c?d=e').getHost() == 'a.b:81' && url('https://a.b/c').getScheme() == 'https' && isURL('/x') && !isURL('x')",
        "timestamp('2030-01-01T00:00:00Z') > timestamp('2029-01-01T00:00:00Z') && duration('1h') == duration('60m')",
        "type(1) == int && string(1) == '1' && int('1') == 1 && 1.5 + 1.5 == 3.0 && ('a' in ['a'] ? true : false)",
        "'%s-%d'.format(['a', 1]) == 'a-1' && sets.contains([1, 2], [1]) && !sets.intersects([1], [2])",
        "self.?missing.orValue('none') == 'none' && !has(self.missing) && !self.?missing.hasValue()",
      ]
      const all = { type: 'object', properties: { missing: text }, ...rules(...holding.map((rule) => ({ rule }))) }
      await definition.serve(definition.manifest({}, schemaOf({ spec: all })))
      const { code, body } = await server.http('POST', path(), definition.widget('w', { spec: {} }))
      expect([code, causesOf(body)]).toEqual([201, []])
    })

    it('do not judge again what was there before they became stricter', async () => {
      await definition.serve(definition.manifest({ a: text, b: text }))
      await server.ok('POST', path(), definition.widget('w', { spec: { a: 'long', b: '1' } }))
      const strict = { a: { ...text, maxLength: 1, ...rules({ rule: "self != 'long'" }) }, b: text }
      await definition.change({
        spec: {
          versions: [
            { name: 'v1', served: true, storage: true, ...schemaOf({ spec: { type: 'object', properties: strict } }) },
          ],
        },
      })
      await definition.until(
        () => server.http('POST', `${path()}?dryRun=All`, definition.widget('x', { spec: { a: 'long' } })),
        ({ code }) => code === 422,
      )
      expect((await server.patch(path('/w'), 'merge', { spec: { b: '2' } })).code).toBe(200)
      const changed = await server.patch(path('/w'), 'merge', { spec: { a: 'other' } })
      expect(causesOf(changed.body)).toEqual([
        notChecked,
        'spec.a FieldValueTooLong Too long: may not be more than 1 byte',
      ])
    })
  })

  describe('a definition', () => {
    const at = 'spec.validation.openAPIV3Schema.properties[spec].properties'
    const refusedFields: Array<[unknown, string[]]> = [
      [{ a: {} }, [`${at}[a].type FieldValueRequired`]],
      [{ a: { type: 'foo' } }, [`${at}[a].type FieldValueNotSupported`]],
      [{ a: { type: 'array' } }, [`${at}[a].items FieldValueRequired`]],
      [{ a: { type: 'array', items: {} } }, [`${at}[a].items.type FieldValueRequired`]],
      [{ a: { type: 'array', items: text, uniqueItems: true } }, [`${at}[a].uniqueItems FieldValueForbidden`]],
      [
        { a: { type: 'object', properties: { x: text }, additionalProperties: text } },
        [`${at}[a].additionalProperties FieldValueForbidden`],
      ],
      [{ a: { ...text, pattern: '(?=a)b' } }, [`${at}[a].pattern FieldValueInvalid`]],
      [{ a: { ...text, pattern: '(a' } }, [`${at}[a].pattern FieldValueInvalid`]],
      [{ a: { $ref: '#/x' } }, [`${at}[a].$ref FieldValueForbidden`]],
      [{ a: { ...count, default: 'x' } }, [`${at}[a].default FieldValueTypeInvalid`]],
      [{ a: { ...count, minimum: 3, default: 1 } }, [`${at}[a].default FieldValueInvalid`]],
      [{ a: { type: 'object', default: { q: 1 } } }, [`${at}[a].default FieldValueInvalid`]],
      [
        { a: { ...count, anyOf: [{ default: 3 }, { type: 'integer' }] } },
        [`${at}[a].anyOf[0].default FieldValueForbidden`, `${at}[a].anyOf[1].type FieldValueForbidden`],
      ],
      [
        { a: { type: 'array', items: { type: 'object', properties: { k: text } }, 'x-kubernetes-list-type': 'map' } },
        [`${at}[a].x-kubernetes-list-map-keys FieldValueRequired`],
      ],
      [
        {
          a: {
            type: 'array',
            items: { type: 'object', properties: { k: text } },
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['k', 'z'],
          },
        },
        [
          `${at}[a].items.properties[k].default FieldValueRequired`,
          `${at}[a].x-kubernetes-list-map-keys FieldValueInvalid`,
        ],
      ],
      [
        { a: { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' } },
        [`${at}[a].items.x-kubernetes-map-type FieldValueInvalid`],
      ],
      [
        { a: { type: 'object', 'x-kubernetes-preserve-unknown-fields': false } },
        [`${at}[a].x-kubernetes-preserve-unknown-fields FieldValueInvalid`],
      ],
      [{ a: { type: 'object', 'x-kubernetes-embedded-resource': true } }, [`${at}[a].properties FieldValueRequired`]],
      ...[
        'self ==',
        'self > 3',
        'self',
        'other > 1',
        'self.bogus()',
        'cel.bind(x, self, x == x)',
        "self.matches('(?=a)')",
        "self.matches('(a')",
      ].map((rule): [unknown, string[]] => [
        { a: { ...text, ...rules({ rule }) } },
        [`${at}[a].x-kubernetes-validations[0].rule FieldValueInvalid`],
      ]),
      [{ a: { ...text, ...rules({ rule: ' ' }) } }, [`${at}[a].x-kubernetes-validations[0].rule FieldValueRequired`]],
      [
        { a: { ...text, ...rules({ rule: 'true', message: 'a\nb' }) } },
        [`${at}[a].x-kubernetes-validations[0].message FieldValueInvalid`],
      ],
      [
        { a: { ...text, ...rules({ rule: 'true', reason: 'Foo' }) } },
        [`${at}[a].x-kubernetes-validations[0].reason FieldValueNotSupported`],
      ],
      [
        { a: { ...text, ...rules({ rule: 'true', messageExpression: '1' }) } },
        [`${at}[a].x-kubernetes-validations[0].messageExpression FieldValueInvalid`],
      ],
      [
        { a: { ...text, ...rules({ rule: "self == ''", optionalOldSelf: true }) } },
        [`${at}[a].x-kubernetes-validations[0].optionalOldSelf FieldValueInvalid`],
      ],
      [
        { a: { type: 'object', properties: { x: text }, ...rules({ rule: 'true', fieldPath: '.y' }) } },
        [`${at}[a].x-kubernetes-validations[0].fieldPath FieldValueInvalid`],
      ],
      [
        { a: { type: 'object', properties: { x: text }, ...rules({ rule: 'self.y == 1' }) } },
        [`${at}[a].x-kubernetes-validations[0].rule FieldValueInvalid`],
      ],
      [
        { a: { type: 'object', properties: { x: text }, ...rules({ rule: '!has(self.y)' }) } },
        [`${at}[a].x-kubernetes-validations[0].rule FieldValueInvalid`],
      ],
      [
        { a: { type: 'array', maxItems: 5, items: { ...text, maxLength: 5, ...rules({ rule: 'self == oldSelf' }) } } },
        [`${at}[a].items.x-kubernetes-validations[0].rule FieldValueInvalid`],
      ],
    ]

    it.each(refusedFields)('is refused for the fields %j', async (fields, faults) => {
      const manifest = definition.manifest(fields as Record<string, unknown>)
      const { code, body } = await server.http('POST', `${definitionsPath}?dryRun=All`, manifest)
      expect([code, body.reason]).toEqual([422, 'Invalid'])
      expect(causesOf(body).map((cause) => cause.split(' ').slice(0, 2).join(' '))).toEqual(faults)
    })

    const version = { name: 'v1', served: true, storage: true, ...schemaOf({}) }
    const refusedSpecs: Array<[Record<string, unknown>, string[]]> = [
      [{ group: 'example' }, ['metadata.name FieldValueInvalid', 'spec.group FieldValueInvalid']],
      [{ group: '' }, ['metadata.name FieldValueInvalid', 'spec.group FieldValueRequired']],
      [{ scope: 'Galaxy' }, ['spec.scope FieldValueNotSupported']],
      [{ names: { plural: 'widgets', kind: 'Widget', listKind: 'Widget' } }, ['spec.names.listKind FieldValueInvalid']],
      [
        { names: { plural: 'widgets', kind: 'Widget', shortNames: ['A'] } },
        ['spec.names.shortNames[0] FieldValueInvalid'],
      ],
      [{ names: { plural: 'gadgets', kind: 'Widget' } }, ['metadata.name FieldValueInvalid']],
      [
        { names: { plural: 'widgets' } },
        [
          'spec.names.kind FieldValueRequired',
          'spec.names.listKind FieldValueRequired',
          'spec.names.singular FieldValueRequired',
        ],
      ],
      [
        { versions: [{ ...version, schema: undefined }] },
        ['spec.versions[0].schema.openAPIV3Schema FieldValueRequired'],
      ],
      [{ versions: [version, { ...version, storage: false }] }, ['spec.versions FieldValueInvalid']],
      [
        { versions: [{ ...version, schema: { openAPIV3Schema: { type: 'string' } } }] },
        ['spec.validation.openAPIV3Schema.type FieldValueInvalid'],
      ],
      [{ preserveUnknownFields: true }, ['spec.preserveUnknownFields FieldValueInvalid']],
      [{ conversion: { strategy: 'Magic' } }, ['spec.conversion.strategy FieldValueNotSupported']],
      [
        { versions: [{ ...version, additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: 'a' }] }] },
        ['spec.additionalPrinterColumns[0].JSONPath FieldValueInvalid'],
      ],
      [
        { versions: [{ ...version, additionalPrinterColumns: [{ name: 'A', type: 'x', jsonPath: '.a' }] }] },
        ['spec.additionalPrinterColumns[0].type FieldValueInvalid'],
      ],
      [
        {
          versions: [
            { ...version, subresources: { scale: { specReplicasPath: '.status.r', statusReplicasPath: '.status.r' } } },
          ],
        },
        ['spec.subresources.scale.specReplicasPath FieldValueInvalid'],
      ],
      [
        { versions: [version, { ...version, name: 'v2', storage: false, ...schemaOf({ spec: {} }) }] },
        ['spec.versions[1].schema.openAPIV3Schema.properties[spec].type FieldValueRequired'],
      ],
    ]

    it.each(refusedSpecs)('is refused for %j', async (spec, faults) => {
      const { code, body } = await server.http(
        'POST',
        `${definitionsPath}?dryRun=All`,
        definition.manifest({}, {}, spec),
      )
      expect([code, body.reason]).toEqual([422, 'Invalid'])
      expect(causesOf(body).map((cause) => cause.split(' ').slice(0, 2).join(' '))).toEqual(faults)
    })

    it('converts no versions by a webhook', async () => {
      const clientConfig = { url: 'https://example.com/convert', caBundle: '' }
      const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } }
      const { code, body } = await server.http(
        'POST',
        `${definitionsPath}?dryRun=All`,
        definition.manifest({}, {}, { conversion }),
      )
      const refused = [
        'spec.conversion.strategy FieldValueForbidden Forbidden: this cluster converts versions only by the strategy None',
      ]
      expect([code, causesOf(body)]).toEqual(server.differs('conversion webhooks') ? [422, refused] : [201, []])
    })

    it('is judged by the cost of its rules, or its objects are', async () => {
      const nested = { type: 'array', items: { type: 'array', items: text } }
      const rule = 'self.all(x, x.all(y, self.all(z, z.all(w, w == y))))'
      const manifest = definition.manifest({ a: { ...nested, ...rules({ rule }) } })
      const defined = await server.http('POST', definitionsPath, manifest)
      expect(defined.code).toBe(server.differs('cost of rules') ? 201 : 422)
      if (defined.code === 422) return
      const a = Array.from({ length: 60 }, () => Array.from({ length: 60 }, () => 'x'))
      const answer = await server.http('POST', path(), definition.widget('w', { spec: { a } }))
      expect(causesOf(answer.body)).toEqual([
        expect.stringContaining('no further validation rules will be run due to call cost exceeds limit'),
      ])
    })

    it.each(['isIP(self)', '!format.dns1123Label().validate(self).hasValue()', '[1].all(i, v, v > 0)'])(
      'may use %s, or not',
      async (rule) => {
        const manifest = definition.manifest({ a: { ...text, maxLength: 10, ...rules({ rule }) } })
        const { code } = await server.http('POST', `${definitionsPath}?dryRun=All`, manifest)
        expect(code).toBe(server.differs('functions of rules') ? 422 : 201)
      },
    )

    it('is refused in a group of Kubernetes’ own without approval', async () => {
      const manifest = definition.manifest({}, {}, { group: 'x.k8s.io' })
      const { body } = await server.http('POST', `${definitionsPath}?dryRun=All`, {
        ...manifest,
        metadata: { name: 'widgets.x.k8s.io' },
      })
      expect(causesOf(body)).toEqual([
        expect.stringMatching(/^metadata\.annotations\[api-approved\.kubernetes\.io\] FieldValueRequired/),
      ])
    })

    it('is refused a name that another of its group has', async () => {
      await definition.serve(definition.manifest({}))
      const other = {
        ...definition.manifest({}, {}, {}, { plural: 'gadgets' }),
        metadata: { name: `gadgets.${definition.group}` },
      }
      await server.ok('POST', definitionsPath, other)
      const judged = await definition.until(
        () => server.ok('GET', `${definitionsPath}/gadgets.${definition.group}`),
        ({ status }) => Boolean((status as { conditions?: unknown[] }).conditions?.length),
      )
      expect(judged['status']).toMatchObject({
        conditions: expect.arrayContaining([
          expect.objectContaining({
            type: 'NamesAccepted',
            status: 'False',
            message: expect.stringContaining('already in use'),
          }),
        ]),
      })
      expect((await server.http('GET', server.path('gadgets', `${definition.group}/v1`))).code).toBe(404)
    })
  })
})
