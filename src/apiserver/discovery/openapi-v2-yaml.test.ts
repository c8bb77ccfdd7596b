import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { yamlText } from './openapi-v2-yaml.ts'

describe('the YAML text of a value', () => {
  it.each([
    ['merge', 'merge\n'],
    ['merge,retainKeys', '"merge,retainKeys"\n'],
    [['name', 'protocol'], '- name\n- protocol\n'],
    [{ group: '', kind: 'Pod', version: 'v1' }, 'group: ""\nkind: Pod\nversion: v1\n'],
    [[{ group: 'apps', kind: 'Deployment' }, { group: 'b' }], '- group: apps\n  kind: Deployment\n- group: b\n'],
    [[{ a: { b: 'c' } }], '- a:\n      b: c\n'],
    ['on', '"on"\n'],
    ['1', '"1"\n'],
    [true, 'true\n'],
    [0.5, '0.5\n'],
    [null, 'null\n'],
    [[], '[]\n'],
    [{}, '{}\n'],
    ['\u0085\ud800', '"\\u0085\ufffd"\n'],
  ])('of %j is as a real server writes it', (value, text) => {
    expect(yamlText(value)).toBe(text)
  })

  it.each(['1.1', '1.2'] as const)('is read back by readers of YAML %s', (version) => {
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string({ unit: 'grapheme' }),
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.string({ unit: 'grapheme', minLength: 1 }), tie('value'), {
          maxKeys: 3,
          noNullPrototype: true,
        }),
      ),
    }))
    fc.assert(
      fc.property(values.value, (value) => {
        expect(parse(yamlText(value), { version })).toEqual(value)
      }),
      { numRuns: 300 },
    )
  })
})
