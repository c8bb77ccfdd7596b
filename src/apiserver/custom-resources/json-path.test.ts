import { describe, expect, it } from 'vitest'
import { JsonPath } from './json-path.ts'

const value = {
  a: { b: 'B', 'c.d': 'dotted', n: 3 },
  list: [
    { k: 'x', v: 1, on: true },
    { k: 'y', v: 2 },
    { k: 'z', v: 3, on: false },
  ],
  labels: { 'example.com/name': 'L' },
}

describe('a JSONPath', () => {
  it.each<[string, unknown[]]>([
    ['.a.b', ['B']],
    ['.a.missing', []],
    ['.a.c\\.d', ['dotted']],
    [".a['c.d']", ['dotted']],
    ['.labels.example\\.com/name', ['L']],
    ['.list[0].k', ['x']],
    ['.list[-1].k', ['z']],
    ['.list[5].k', []],
    ['.list[*].k', ['x', 'y', 'z']],
    ['.list[0:2].k', ['x', 'y']],
    ['.list[-1:].k', ['z']],
    ['.list[0,2].k', ['x', 'z']],
    ['.list[::2].k', ['x', 'z']],
    ['.list[?(@.k=="y")].v', [2]],
    [".list[?(@.k=='y')].v", [2]],
    ['.list[?(@.v>1)].k', ['y', 'z']],
    ['.list[?(@.on==true)].k', ['x']],
    ['.list[?(@.on)].k', ['x', 'z']],
    ['.list[?(@.k!="y")].k', ['x', 'z']],
    ['..k', ['x', 'y', 'z']],
    ['.a.*', ['B', 'dotted', 3]],
    ['.a.b.c', []],
    ['.constructor', []],
  ])('%s finds %j', (path, expected) => {
    expect(new JsonPath(path).find(value)).toEqual(expected)
  })

  it.each(['.a[', '.a[x]', 'a..', '.a b', '.a[?(x)]', '.[?(@.a==)]'])('%s is refused', (path) => {
    expect(() => new JsonPath(path)).toThrow(SyntaxError)
  })
})
