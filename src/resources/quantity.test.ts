import { describe, expect, it } from 'vitest'
import { formatKibibytes, milliQuantity, parseQuantity } from './quantity.ts'

describe('parseQuantity', () => {
  it.each([
    ['2', 2],
    ['0', 0],
    ['500m', 0.5],
    ['700m', 0.7],
    ['0.1', 0.1],
    ['.5', 0.5],
    ['1.', 1],
    ['1500M', 1.5e9],
    ['4Gi', 4 * 2 ** 30],
    ['1.5Ki', 1536],
    ['1e3', 1000],
    ['2E', 2e18],
    ['1E2', 100],
    ['12k', 12_000],
    ['-3', -3],
    ['100n', 1e-7],
  ])('reads %s', (text, value) => {
    expect(parseQuantity(text)).toBe(value)
  })

  it.each(['', 'x', '1 Gi', '1K', '1gi', '1e', '--1', '.', '1Gi2', '1mm', 'Infinity', '1e999'])(
    'refuses %j',
    (text) => {
      expect(parseQuantity(text)).toBeUndefined()
    },
  )
})

describe('milliQuantity', () => {
  it.each([
    ['700m', 700],
    ['0.1', 100],
    ['1', 1000],
    ['1u', 1],
    ['4Gi', 4 * 2 ** 30 * 1000],
  ])('reads %s exactly', (text, value) => {
    expect(milliQuantity(text)).toBe(value)
  })
})

it('reports memory in whole Ki', () => {
  expect(formatKibibytes(2 ** 20 + 1)).toBe('1024Ki')
})
