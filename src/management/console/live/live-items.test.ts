import { describe, expect, it } from 'vitest'
import { LiveItems } from './live-items.ts'

const values = (...pairs: ReadonlyArray<readonly [string, unknown]>) => new Map(pairs)

describe('LiveItems', () => {
  it('tells a newcomer everything, and the others what has changed since', () => {
    const items = new LiveItems()
    items.replace('a/', values(['x', 1], ['y', 2]))
    items.replace('b/', values(['z', 3]))
    const { revision, ...whole } = items.since(0)
    expect(whole).toEqual({ isWhole: true, changed: { 'a/x': 1, 'a/y': 2, 'b/z': 3 }, removed: [] })
    expect(items.replace('a/', values(['x', 1], ['y', 2]))).toBe(false)
    expect(items.revision).toBe(revision)
    expect(items.replace('a/', values(['x', 5]))).toBe(true)
    expect(items.since(revision)).toMatchObject({ isWhole: false, changed: { 'a/x': 5 }, removed: ['a/y'] })
  })

  it('does not call what came back removed', () => {
    const items = new LiveItems()
    items.replace('a/', values(['x', 1]))
    const { revision } = items
    items.replace('a/', values())
    items.replace('a/', values(['x', 1]))
    expect(items.since(revision)).toMatchObject({ changed: { 'a/x': 1 }, removed: [] })
  })

  it('tells everything anew to one who has missed more removals than are remembered', () => {
    const items = new LiveItems()
    items.replace('a/', values(['0', 0]))
    const { revision } = items
    for (let round = 1; round <= 2_500; round += 1) items.replace('a/', values([String(round), round]))
    expect(items.since(revision)).toMatchObject({ isWhole: true, changed: { 'a/2500': 2500 }, removed: [] })
    expect(items.since(items.revision - 1)).toMatchObject({ isWhole: false })
  })
})
