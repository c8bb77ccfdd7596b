import { type Call, type HostileInput, entries, many } from './hostile-calls.fixture.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widgets = '/apis/hostile.example.com/v1/namespaces/team/widgets'
const text = { type: 'string' }

const version = (name: string, schema: object, more: object = {}) => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: schema },
  ...more,
})
const define = (versions: readonly object[]): Call => ({
  method: 'POST',
  path: definitions,
  user: 'root',
  body: JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.hostile.example.com' },
    spec: { group: 'hostile.example.com', scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' }, versions },
  }),
})
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const withSpec = (spec: object, more: object = {}) => define([version('v1', object({ spec }), more)])
const list = (items: object, more: object = {}) => ({ type: 'array', items, ...more })
const widget = (spec: unknown): Call => ({
  method: 'POST',
  path: widgets,
  user: 'root',
  body: JSON.stringify({ apiVersion: 'hostile.example.com/v1', kind: 'Widget', metadata: { name: 'hostile' }, spec }),
})
const nested = (levels: number, leaf: object): object => {
  let schema = leaf
  for (let level = 0; level < levels; level += 1) schema = object({ a: schema })
  return schema
}
const rules = (items: readonly string[]) => ({ 'x-kubernetes-validations': items.map((rule) => ({ rule })) })

const ofDefinitions: readonly HostileInput[] = [
  {
    name: 'a definition of very many fields',
    attack: (share) => withSpec(object(entries(100_000, share, (i) => `f${i}`, text))),
  },
  {
    name: 'a definition of very many faults',
    attack: (share) => withSpec(object(entries(150_000, share, (i) => `f${i}`, {}))),
  },
  { name: 'a definition nested as deep as can be', attack: () => withSpec(nested(40, text)) },
  {
    name: 'a definition of very many versions',
    attack: (share) =>
      define(many(20_000, share, (i) => version(i === 0 ? 'v1' : `v${i + 1}`, object({}), { deprecated: true }))),
  },
  {
    name: 'a definition of very many versions that differ',
    attack: (share) =>
      define(many(10_000, share, (i) => version(i === 0 ? 'v1' : `v${i + 1}`, object({ [`f${i}`]: text })))),
  },
  {
    name: 'a definition of very many columns',
    attack: (share) =>
      withSpec(text, {
        additionalPrinterColumns: many(40_000, share, (i) => ({ name: `c${i}`, type: 'string', jsonPath: '.spec' })),
      }),
  },
  {
    name: 'a column of a very long path',
    attack: (share) =>
      withSpec(text, {
        additionalPrinterColumns: [
          { name: 'c', type: 'string', jsonPath: `.spec[?(${' '.repeat(1_000_000 * share)}@)]` },
        ],
      }),
  },
  {
    name: 'a column of filters in filters',
    attack: (share) =>
      withSpec(text, {
        additionalPrinterColumns: [
          {
            name: 'c',
            type: 'string',
            jsonPath: `.spec${'[?(@'.repeat(100_000 * share)}${')]'.repeat(100_000 * share)}`,
          },
        ],
      }),
  },
  {
    name: 'a definition of very many short names',
    attack: (share) => ({
      ...withSpec(text),
      body: String(withSpec(text).body).replace(
        '"kind":"Widget"}',
        `"kind":"Widget","shortNames":${JSON.stringify(many(150_000, share, (i) => `s${i}`))}}`,
      ),
    }),
  },
  {
    name: 'a definition of alternatives in alternatives',
    attack: () =>
      withSpec({
        type: 'string',
        anyOf: many(20, 1, () => ({ anyOf: many(20, 1, () => ({ anyOf: many(100, 1, () => ({ pattern: 'a' })) })) })),
      }),
  },
  {
    name: 'an expression of repeats of repeats',
    attack: (share) =>
      withSpec(
        object(
          Object.fromEntries(many(20_000, share, (i) => [`f${i}`, { ...text, pattern: `((a{1,1000}){1,9})${i}` }])),
        ),
      ),
  },
  {
    name: 'an expression of classes',
    attack: (share) => withSpec({ ...text, pattern: `[${'\\pL\\PL'.repeat(200_000 * share)}]` }),
  },
  {
    name: 'an expression of alternatives',
    attack: (share) => withSpec({ ...text, pattern: `(${'a|'.repeat(1_000_000 * share)}b)` }),
  },
  {
    name: 'a definition of very many rules',
    attack: (share) => withSpec({ ...text, ...rules(many(20_000, share, (i) => `self != 'x${i}'`)) }),
  },
  {
    name: 'a definition of very many rules on a wide object',
    attack: (share) =>
      withSpec(
        object(
          entries(2_000, share, (i) => `f${i}`, { ...text, ...rules(['self != ""', 'size(self) > 1']) }),
          rules(many(2_000, share, (i) => `has(self.f${i % 10})`)),
        ),
      ),
  },
  {
    name: 'a rule that is very long',
    attack: (share) => withSpec({ ...text, ...rules([`self == "${'x'.repeat(2_900_000 * share)}"`]) }),
  },
  {
    name: 'a rule of very many terms',
    attack: (share) => withSpec({ ...text, ...rules([`self != ""${' && self != ""'.repeat(200_000 * share)}`]) }),
  },
  {
    name: 'a rule nested deeply',
    attack: (share) =>
      withSpec({ ...text, ...rules([`${'('.repeat(1_000_000 * share)}true${')'.repeat(1_000_000 * share)}`]) }),
  },
  {
    name: 'a definition of defaults in defaults',
    attack: (share) =>
      withSpec(
        object(
          {
            a: list(object({ b: { ...text, default: 'x'.repeat(1_000_000 * share) } }), {
              default: many(100_000, share, () => ({})),
            }),
          },
          { default: {} },
        ),
      ),
  },
  {
    name: 'a definition of objects in objects that all have defaults',
    attack: (share) =>
      withSpec(
        many(40, 1, (i) => entries(750, share, (index) => `f${i}-${index}`, { ...text, default: 'x' })).reduce<object>(
          (inner, fields) => object({ ...fields, a: inner }, { default: {} }),
          { ...text, default: 'x' },
        ),
      ),
  },
  {
    name: 'a definition of a list by very many keys',
    attack: (share) =>
      withSpec(
        list(
          object(
            entries(50_000, share, (i) => `f${i}`, text),
            { required: many(50_000, share, (i) => `f${i}`) },
          ),
          {
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': many(50_000, share, (i) => `f${i}`),
          },
        ),
      ),
    answer: 'must have at most 64 items',
  },
  {
    name: 'an enumeration of very many values',
    attack: (share) => withSpec({ ...text, enum: many(200_000, share, (i) => `v${i}`) }),
  },
]

/** Larger than what can be sent with the usual share. */
const wide = withSpec(object(entries(33_000, 1, (i) => `f${i}`, text)))

const ofWide: readonly HostileInput[] = [
  {
    name: 'the document of a definition of very many fields',
    before: () => [wide],
    attack: () => ({
      method: 'GET',
      path: '/openapi/v2',
      accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
      user: 'root',
    }),
  },
  {
    name: 'an object of very many fields that its definition knows',
    before: () => [wide],
    attack: (share) => widget(entries(190_000, share, (i) => `f${i}`, 'x')),
  },
]

const ofObjects: readonly HostileInput[] = [
  {
    name: 'items with a large default each',
    before: () => [
      withSpec(
        list(
          object({
            a: {
              ...object({}, { 'x-kubernetes-preserve-unknown-fields': true }),
              default: { x: many(20_000, 1, (i) => i) },
            },
          }),
        ),
      ),
    ],
    attack: (share) => widget(many(200_000, share, () => ({}))),
  },
  {
    name: 'items with a large text as their default',
    before: () => [withSpec(list(object({ a: { ...text, default: 'x'.repeat(1_000_000) } })))],
    attack: (share) => widget(many(200_000, share, () => ({}))),
  },
  {
    name: 'items of an enumeration of objects',
    before: () => [withSpec(list({ type: 'integer', enum: many(20_000, 1, (i) => i) }))],
    attack: (share) => widget(many(400_000, share, () => 19_999)),
  },
  {
    name: 'items outside of a large enumeration',
    before: () => [withSpec(list({ ...text, enum: many(90_000, 1, (i) => `v${i}`) }))],
    attack: (share) => widget(many(400_000, share, () => 'x')),
  },
  {
    name: 'a set of very many items',
    before: () => [withSpec(list(text, { 'x-kubernetes-list-type': 'set' }))],
    attack: (share) => widget(many(300_000, share, (i) => `v${i}`)),
  },
  {
    name: 'a list by keys of very many items',
    before: () => [
      withSpec(
        list(object({ k: text }, { required: ['k'] }), {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
        }),
      ),
    ],
    attack: (share) => widget(many(150_000, share, (i) => ({ k: `v${i}` }))),
  },
  {
    name: 'items that are all missing what is required',
    before: () => [
      withSpec(
        list(
          object(
            entries(50, 1, (i) => `f${i}`, text),
            { required: many(50, 1, (i) => `f${i}`) },
          ),
        ),
      ),
    ],
    attack: (share) => widget(many(900_000, share, () => ({}))),
  },
  {
    name: 'alternatives over many items',
    before: () => [withSpec(list({ ...text, anyOf: many(1_000, 1, (i) => ({ pattern: `^x${i}$` })) }))],
    attack: (share) => widget(many(300_000, share, () => 'y')),
  },
  {
    name: 'alternatives in alternatives over a text',
    before: () => [
      withSpec({
        ...text,
        allOf: many(10, 1, () => ({
          allOf: many(10, 1, () => ({
            allOf: many(10, 1, () => ({ allOf: many(10, 1, () => ({ pattern: 'x+y' })) })),
          })),
        })),
      }),
    ],
    attack: (share) => widget('x'.repeat(2_900_000 * share)),
  },
  {
    name: 'a pattern over a long text',
    before: () => [withSpec({ ...text, pattern: '^(x+x+)+y$' })],
    attack: (share) => widget('x'.repeat(2_900_000 * share)),
  },
  {
    name: 'a wide pattern over a long text',
    before: () => [withSpec({ ...text, pattern: '(x{1,900}y?){1,9}z' })],
    attack: (share) => widget('xy'.repeat(1_400_000 * share)),
  },
  {
    name: 'a pattern whose states never repeat',
    before: () => [withSpec({ ...text, pattern: '(a|b)*a(a|b){900}c' })],
    attack: (share) => widget(many(1_000_000, share, (i) => ((i * 7919) % 13 > 6 ? 'a' : 'b')).join('')),
  },
  {
    name: 'a pattern that looks at neighbours',
    before: () => [withSpec({ ...text, pattern: '\\b(x?){500}y\\b' })],
    attack: (share) => widget('x '.repeat(1_400_000 * share)),
  },
  {
    name: 'a length of a long text',
    before: () => [withSpec({ ...text, maxLength: 2_000_000 })],
    attack: (share) => widget('\u00e4'.repeat(1_400_000 * share)),
  },
  {
    name: 'a format of a long text',
    before: () => [withSpec(list({ ...text, format: 'duration' }))],
    attack: (share) => widget(many(45, share, () => '1'.repeat(64_000))),
  },
  {
    name: 'a rule over a large list',
    before: () => [withSpec(list(text, rules(['self.all(a, self.all(b, a != b || a == b))'])))],
    attack: (share) => widget(many(400_000, share, (i) => `v${i}`)),
  },
  {
    name: 'a rule over a middling list',
    before: () => [withSpec(list(text, rules(['self.all(a, self.all(b, a != b || a == b))'])))],
    attack: (share) => widget(many(800, share, (i) => `v${i}`)),
  },
  {
    name: 'a rule on each of very many items',
    before: () => [withSpec(list({ ...text, ...rules(['self != ""', 'self.size() > 0', 'self.startsWith("v")']) }))],
    attack: (share) => widget(many(400_000, share, (i) => `v${i}`)),
  },
  {
    name: 'a broken rule on each of very many items',
    before: () => [withSpec(list({ ...text, ...rules(['self == ""']) }))],
    attack: (share) => widget(many(400_000, share, (i) => `v${i}`)),
  },
  {
    name: 'a rule that matches a text that is long',
    before: () => [withSpec({ ...text, ...rules([`self.matches('(x+x+)+y')`]) })],
    attack: (share) => widget('x'.repeat(2_000_000 * share)),
  },
  {
    name: 'a rule that splits, joins and replaces',
    before: () => [
      withSpec({
        ...text,
        ...rules([`self.split('x').join('yyyyyyyyyyyyyyyyyyyyyy').replace('y', 'zzzzzzzzzzzzzzz').size() > 0`]),
      }),
    ],
    attack: (share) => widget('x'.repeat(500_000 * share)),
  },
  {
    name: 'unknown fields of a custom object',
    before: () => [withSpec(object({ a: text }))],
    attack: (share) => widget(entries(200_000, share, (i) => `f${i}`, 1)),
  },
  {
    name: 'a column that looks everywhere',
    before: () => [
      withSpec(
        { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        {
          additionalPrinterColumns: many(20, 1, (i) => ({
            name: `c${i}`,
            type: 'string',
            jsonPath: '.spec..x..x..x..x',
          })),
        },
      ),
      widget({ items: many(7_000, 1, () => ({ x: { x: { x: 1 } } })) }),
    ],
    attack: () => ({
      method: 'GET',
      path: widgets,
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      user: 'root',
    }),
    answer: '"kind":"Table"',
  },
]

export const hostileDefinitions: readonly HostileInput[] = [...ofDefinitions, ...ofWide, ...ofObjects]
