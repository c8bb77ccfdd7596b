import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergePatch } from './merge-patch.ts'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** The pseudocode of RFC 7396, section 2. */
function byDefinition(target: Json | undefined, patch: Json): Json {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result = new Map<string, Json>(
    typeof target === 'object' && target !== null && !Array.isArray(target) ? Object.entries(target) : [],
  )
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, byDefinition(result.get(name), value))
  }
  return Object.fromEntries(result)
}

const name = fc.constantFrom('a', 'b', 'c', 'toString', 'constructor')
const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>(null, true, 1, 'text'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value

describe('a JSON merge patch', () => {
  it('does what RFC 7396 says, and leaves what it was given alone', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const [targetBefore, patchBefore] = [structuredClone(target), structuredClone(patch)]
        expect(mergePatch(target, patch)).toEqual(byDefinition(target, patch))
        expect([target, patch]).toEqual([targetBefore, patchBefore])
      }),
      { numRuns: 1000 },
    )
  })

  it('does not let a field become the prototype', () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__":{"admin":true}}'))
    expect(Reflect.get(Object(merged), 'admin')).toBeUndefined()
    expect(Reflect.get({}, 'admin')).toBeUndefined()
  })

  // The examples of the RFC's appendix.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j patched by %j is %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result)
  })
})
