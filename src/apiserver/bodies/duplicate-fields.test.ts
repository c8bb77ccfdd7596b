import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { duplicateFields } from './duplicate-fields.ts'

describe('fields given twice', () => {
  it.each([
    ['{"a": 1, "a": 2}', [{ path: 'a', name: 'a', line: 1 }]],
    ['{"a": {"b": 1},\n "c": [{"b": 1}, {"b": 1, "b": 2}]}', [{ path: 'c[1].b', name: 'b', line: 2 }]],
    ['{"a\\"": 1, "a\\u0022": 2}', [{ path: 'a"', name: 'a"', line: 1 }]],
    ['{"a": "b", "b": "a", "c": ["a", "a"]}', []],
    ['[1, 2, "x"]', []],
  ])('%j', (text, expected) => {
    expect(duplicateFields(text)).toEqual(expected)
  })

  it('are not found where there are none', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        expect(duplicateFields(text)).toEqual([])
      }),
    )
  })

  it('are told with the lines they are in', () => {
    const text = '{\n"a": 1,\n"a": 1, "b": 1,\n\n"b": {"c": 1, "c": 1},\n"a": 1}'
    expect(duplicateFields(text).map(({ path, line }) => `${path} ${line}`)).toEqual(['a 3', 'b 5', 'b.c 5', 'a 6'])
  })

  it('are not told without end', () => {
    const text = `{${Array.from({ length: 1000 }, () => '"a": 1').join()}}`
    expect(duplicateFields(text)).toHaveLength(32)
  })
})
