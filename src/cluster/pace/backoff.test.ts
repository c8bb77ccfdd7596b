import { describe, expect, it } from 'vitest'
import { backoffMs } from './backoff.ts'

const limits = { firstMs: 100, longestMs: 30_000 }

describe('backoffMs', () => {
  it.each([
    [1, 0, 50],
    [1, 0.999, 100],
    [2, 0.999, 200],
    [4, 0, 400],
    [9, 0.999, 25_587],
    [10, 0, 15_000],
    [1_000_000, 0.999, 29_985],
  ])('after %i failures, at random %d, is %i ms', (failures, random, expected) => {
    expect(backoffMs(failures, random, limits)).toBe(expected)
  })
})
