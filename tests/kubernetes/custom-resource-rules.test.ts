import { describe, expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import { onEachServer } from './on-each-server.ts'
import { WidgetDefinition, causesOf, count, rules, schemaOf, text, typeFault } from './widget-definition.ts'

const notChecked =
  '<nil> FieldValueInvalid Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

onEachServer((server) => {
  const definition = new WidgetDefinition(server)
  const path = definition.path.bind(definition)

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
      await askUntil(
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
})
