import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { mostNumberBytes, putBytes, putNumber, putText } from './put-bytes.ts'

const written = (value: number): string => {
  const bytes = Buffer.alloc(40, '.')
  return bytes.toString('latin1', 3, putNumber(bytes, 3, value))
}

it('writes every number as a template would, and touches nothing beside it', () => {
  const numbers = fc.oneof(fc.nat(), fc.integer(), fc.maxSafeNat(), fc.double())
  fc.assert(
    fc.property(numbers, (value) => {
      const bytes = Buffer.alloc(40, '.')
      const text = String(value)
      expect(putNumber(bytes, 3, value)).toBe(3 + text.length)
      expect(bytes.toString('latin1')).toBe(`...${text}`.padEnd(40, '.'))
      expect(text.length).toBeLessThanOrEqual(mostNumberBytes)
    }),
  )
})

it('puts any text as UTF-8', () => {
  const texts = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ maxLength: 40, unit: 'binary' }))
  fc.assert(
    fc.property(texts, (text) => {
      const bytes = Buffer.alloc(300, '.')
      const expected = Buffer.from(text)
      expect(putText(bytes, 5, text)).toBe(5 + expected.length)
      expect(bytes.subarray(5, 5 + expected.length)).toEqual(expected)
      expect(bytes.subarray(5 + 3 * text.length).equals(Buffer.alloc(295 - 3 * text.length, '.'))).toBe(true)
    }),
  )
})

it.each([0, 1, 31, 32, 33, 500])('puts %d bytes, and touches nothing beside them', (length) => {
  const bytes = Buffer.alloc(600, '.')
  const put = Buffer.alloc(length, 'x')
  expect(putBytes(bytes, 7, put)).toBe(7 + length)
  expect(bytes.toString()).toBe(`${'.'.repeat(7)}${'x'.repeat(length)}`.padEnd(600, '.'))
})

it.each([0, -0, 9, 10, 99, 100, 999_999_999, 1_000_000_000, 2_147_483_648, 1e21, 0.1, -1])('writes %d', (value) => {
  expect(written(value)).toBe(String(value))
})
