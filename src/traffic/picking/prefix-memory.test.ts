import { describe, expect, it } from 'vitest'
import { PrefixMemory } from './prefix-memory.ts'

const everybody = () => true

describe('PrefixMemory', () => {
  it('knows how much of a prompt each endpoint has seen', () => {
    const memory = new PrefixMemory<string>()
    memory.remember([1, 2, 3], 'a')
    memory.remember([1, 2, 9], 'b')
    expect(memory.match([1, 2, 3, 4], everybody)).toEqual(
      new Map([
        ['a', 3],
        ['b', 2],
      ]),
    )
    expect(memory.match([5], everybody).size).toBe(0)
  })

  it('forgets endpoints that are not there any more', () => {
    const memory = new PrefixMemory<string>()
    memory.remember([1, 2], 'a')
    expect(memory.match([1, 2], () => false).size).toBe(0)
    expect(memory.match([1, 2], everybody).size).toBe(0)
  })

  it('keeps to its bound, and forgets the ends of what was used longest ago', () => {
    const memory = new PrefixMemory<string>({ mostBlocks: 4 })
    memory.remember([1, 2, 3], 'a')
    memory.remember([11, 12], 'b')
    expect(memory.size).toBe(4)
    expect(memory.match([1, 2, 3], everybody)).toEqual(new Map([['a', 2]]))
    memory.remember([1, 2], 'a')
    memory.remember([21, 22], 'b')
    expect(memory.match([1, 2], everybody)).toEqual(new Map([['a', 2]]))
    expect(memory.match([11, 12], everybody).size).toBe(0)
  })
})
