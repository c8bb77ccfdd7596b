import { describe, expect, it } from 'vitest'
import { jsonPatch } from './json-patch.ts'
import { mergePatch } from './merge-patch.ts'

describe('a JSON patch', () => {
  const applied: Array<[string, unknown, unknown[], unknown]> = [
    ['adds a field', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['adds into a list', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['appends to a list', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    ['replaces a value', { a: { b: 1 } }, [{ op: 'replace', path: '/a/b', value: null }], { a: { b: null } }],
    ['removes an item', { a: [1, 2] }, [{ op: 'remove', path: '/a/0' }], { a: [2] }],
    ['unescapes a pointer', { 'x/y~z': 1 }, [{ op: 'remove', path: '/x~1y~0z' }], {}],
    ['moves', { a: 1 }, [{ op: 'move', from: '/a', path: '/b' }], { b: 1 }],
    ['copies', { a: [1] }, [{ op: 'copy', from: '/a/0', path: '/b' }], { a: [1], b: 1 }],
    [
      'goes on after a test that holds',
      { a: { b: 1 } },
      [{ op: 'test', path: '/a', value: { b: 1 } }],
      { a: { b: 1 } },
    ],
  ]
  it.each(applied)('%s', (_what, target, patch, result) => {
    expect(jsonPatch(target, patch)).toEqual(result)
  })

  const refused: Array<[string, unknown, string]> = [
    ['a test that fails', [{ op: 'test', path: '/a', value: 2 }], 'Invalid'],
    ['a field that is not there', [{ op: 'replace', path: '/x', value: 2 }], 'Invalid'],
    ['a parent that is not there', [{ op: 'add', path: '/x/y', value: 2 }], 'Invalid'],
    ['an index beyond the end', [{ op: 'remove', path: '/l/2' }], 'Invalid'],
    ['an index that is none', [{ op: 'add', path: '/l/01', value: 1 }], 'Invalid'],
    ['the prototype', [{ op: 'add', path: '/__proto__/polluted', value: 1 }], 'Invalid'],
    ['a path that leads deeper than any object', [{ op: 'add', path: '/a'.repeat(1_001), value: 1 }], 'Invalid'],
    ['an unknown operation', [{ op: 'merge', path: '/a' }], 'BadRequest'],
    ['a path that is no pointer', [{ op: 'remove', path: 'a' }], 'BadRequest'],
    ['no value', [{ op: 'add', path: '/b' }], 'BadRequest'],
    ['not a list', { op: 'add' }, 'BadRequest'],
    [
      'too many operations',
      Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 })),
      'RequestEntityTooLarge',
    ],
  ]
  it.each(refused)('refuses %s', (_what, patch, reason) => {
    expect(() => jsonPatch({ a: 1, l: [1] }, patch)).toThrow(expect.objectContaining({ reason }))
  })

  it('changes nothing in place', () => {
    const target = { a: { b: [1] } }
    jsonPatch(target, [{ op: 'add', path: '/a/b/-', value: 2 }])
    expect(target).toEqual({ a: { b: [1] } })
  })
})

describe('a merge patch', () => {
  it.each([
    [{ a: 'b' }, { a: null }, {}],
    [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
    [{ a: { b: 1, c: 2 } }, { a: { b: null } }, { a: { c: 2 } }],
    [{ a: 1 }, { a: { b: { c: null } } }, { a: { b: {} } }],
    [{ a: 1 }, 'x', 'x'],
    [undefined, { a: { b: 1 } }, { a: { b: 1 } }],
  ])('makes of %j with %j: %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result)
  })

  it('does not touch the prototype', () => {
    const patched = mergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}'))
    expect(Object.getPrototypeOf(patched)).toBe(Object.prototype)
    expect({}).not.toHaveProperty('polluted')
  })
})
