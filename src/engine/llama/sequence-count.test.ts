import { describe, expect, it } from 'vitest'
import { decideSequences } from './sequence-count.ts'

const gigabyte = 1e9

describe('decideSequences', () => {
  it.each([
    ['eight where there is room', 32, 0.09, 8],
    ['as many as a quarter of the free memory holds', 16, 1, 4],
    ['at least one', 1, 4, 1],
  ])('computes %s', (_, available, each, expected) => {
    const input = { availableBytes: available * gigabyte, bytesPerSequence: each * gigabyte }
    expect(decideSequences({ asked: undefined, ...input })).toBe(expected)
    expect(decideSequences({ asked: 32, ...input })).toBe(32)
  })
})
