import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type FieldSet,
  difference,
  hasPath,
  intersection,
  pathsOf,
  setOfPath,
  unionOfObjects,
  withoutBranches,
} from './field-set.ts'
import { compareElements, keyElement, readFieldSet, shownPath, valueElement } from './path-element.ts'
import { fieldSet } from './sample-kind.fixture.ts'

describe('sets of fields', () => {
  it('are written as FieldsV1: a dot where a field with others below it belongs too', () => {
    expect(fieldSet('f:a', 'f:a f:b', 'f:c f:d')).toEqual({ 'f:a': { '.': {}, 'f:b': {} }, 'f:c': { 'f:d': {} } })
  })

  const one = fieldSet('f:a', 'f:a f:b', 'f:a f:c', 'f:d')
  const cases: Array<[string, FieldSet | undefined, FieldSet | undefined]> = [
    ['a difference leaves what is below', difference(one, fieldSet('f:a')), fieldSet('f:a f:b', 'f:a f:c', 'f:d')],
    ['a difference leaves what is above', difference(one, fieldSet('f:a f:b', 'f:d')), fieldSet('f:a', 'f:a f:c')],
    ['a difference from itself is empty', difference(one, one), undefined],
    ['without branches, what is below goes too', withoutBranches(one, fieldSet('f:a')), fieldSet('f:d')],
    ['an intersection has what both have', intersection(one, fieldSet('f:a', 'f:a f:c f:x')), fieldSet('f:a')],
    ['an intersection may be empty', intersection(one, fieldSet('f:x')), undefined],
    ['a union with nothing', unionOfObjects(one, undefined), one],
  ]
  it.each(cases)('%s', (_name, actual, expected) => {
    expect(actual).toEqual(expected)
  })

  const element = fc.constantFrom('f:a', 'f:b', 'f:c')
  const anySet = fc
    .array(fc.array(element, { minLength: 1, maxLength: 3 }), { maxLength: 6 })
    .map((paths) => fieldSet(...paths.map((path) => path.join(' '))))
  const members = (set: FieldSet | undefined) => new Set(pathsOf(set, compareElements).map((path) => path.join(' ')))

  it('behave like sets of their paths', () => {
    fc.assert(
      fc.property(anySet, anySet, (left, right) => {
        const [a, b] = [members(left), members(right)]
        expect(members(unionOfObjects(left, right))).toEqual(new Set([...a, ...b]))
        expect(members(intersection(left, right))).toEqual(new Set([...a].filter((path) => b.has(path))))
        expect(members(difference(left, right))).toEqual(new Set([...a].filter((path) => !b.has(path))))
        for (const path of a) expect(hasPath(left, path.split(' '))).toBe(true)
      }),
    )
  })
})

describe('elements of a path', () => {
  it('name items by key or value', () => {
    const key = keyElement([
      ['port', 80],
      ['name', 'x'],
    ])
    expect(key).toBe('k:{"name":"x","port":80}')
    expect(valueElement('a')).toBe('v:"a"')
    expect(shownPath(['f:spec', key, valueElement('a'), 'i:3'])).toBe('.spec[name="x",port=80][="a"][3]')
  })

  it('are sorted as Kubernetes sorts them: numbers as numbers', () => {
    const elements = ['k:{"port":443}', 'i:1', 'k:{"port":80}', 'f:b', 'v:"a"', 'f:a']
    expect(elements.sort(compareElements)).toEqual(['f:a', 'f:b', 'k:{"port":80}', 'k:{"port":443}', 'v:"a"', 'i:1'])
  })

  it('are read from what a client sends in our own writing, unknown kinds left out', () => {
    const sent = { 'f:a': { '.': {}, 'k:{ "b":1, "a":"x" }': {} }, 'x:later': {}, 'v:1': {} }
    expect(readFieldSet(sent)).toEqual({ 'f:a': { '.': {}, 'k:{"a":"x","b":1}': {} }, 'v:1': {} })
  })

  it.each([[{ nothing: {} }], [{ 'k:x': {} }], [{ 'i:x': {} }], [{ 'f:a': 1 }], ['text'], [{ 'k:[1]': {} }]])(
    'refuse %j',
    (sent) => {
      expect(readFieldSet(sent)).toBeUndefined()
    },
  )

  it('do not go down without end', () => {
    let deep: FieldSet = {}
    for (let depth = 0; depth < 10_000; depth += 1) deep = { 'f:a': deep }
    expect(readFieldSet(deep)).toBeUndefined()
    expect(readFieldSet(setOfPath(Array.from({ length: 20 }, () => 'f:a')))).toBeDefined()
  })
})
