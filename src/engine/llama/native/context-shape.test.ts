import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GgufHeader } from '../../models/gguf-header.ts'
import { bytesPerToken, contextTokens, grownShape, hasRoom, shapeFor, smallestShape } from './context-shape.ts'

const most = { sequences: 8, length: 4096 }

describe('the shape of a context', () => {
  it.each([
    ['begins with one question', smallestShape(most), { sequences: 1, length: 256 }],
    ['is never larger than allowed', smallestShape({ sequences: 4, length: 128 }), { sequences: 1, length: 128 }],
    [
      'doubles for one more',
      grownShape({ sequences: 2, length: 1024 }, { sequences: 3, length: 10 }, most),
      { sequences: 4, length: 1024 },
    ],
    [
      'doubles for a longer one',
      grownShape({ sequences: 1, length: 1024 }, { sequences: 1, length: 1025 }, most),
      { sequences: 1, length: 2048 },
    ],
    ['is as small as what stays', shapeFor(1500, most), { sequences: 1, length: 2048 }],
  ])('%s', (_, shape, expected) => {
    expect(shape).toEqual(expected)
  })

  it('has room for what it grew for, as far as it may, and is never smaller than before', () => {
    const shape = fc.record({ sequences: fc.integer({ min: 1, max: 32 }), length: fc.integer({ min: 1, max: 20_000 }) })
    fc.assert(
      fc.property(shape, shape, (needed, largest) => {
        const before = smallestShape(largest)
        const after = grownShape(before, needed, largest)
        expect(hasRoom(after, before)).toBe(true)
        expect(hasRoom(largest, after)).toBe(true)
        expect(hasRoom(after, needed)).toBe(hasRoom(largest, needed))
      }),
    )
  })

  it('is asked for in steps of 256 tokens for each conversation', () => {
    expect(contextTokens({ sequences: 3, length: 1000 })).toBe(3 * 1024)
  })
})

describe('what a token takes', () => {
  const header = (values: Record<string, number | number[]>): GgufHeader => ({
    architecture: 'x',
    text: () => undefined,
    number: (key) => (typeof values[key] === 'number' ? values[key] : undefined),
    numbers: (key) => (Array.isArray(values[key]) ? values[key] : undefined),
    count: () => undefined,
  })
  const common = { 'x.block_count': 30, 'x.embedding_length': 576, 'x.attention.head_count': 9 }

  it('is a key and a value of the shared heads in every layer', () => {
    expect(bytesPerToken(header({ ...common, 'x.attention.head_count_kv': 3 }))).toBe(30 * 3 * 128 * 2)
    expect(bytesPerToken(header(common))).toBe(30 * 9 * 128 * 2)
  })

  it('follows the layers where they differ, and the lengths of keys and values', () => {
    const lengths = { 'x.attention.key_length': 192, 'x.attention.value_length': 128 }
    expect(bytesPerToken(header({ ...common, ...lengths, 'x.attention.head_count_kv': [0, 4, 0, 4] }))).toBe(
      8 * 320 * 2,
    )
  })
})
