import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalQuantity } from './canonical-quantity.ts'
import { parseQuantity } from './quantity.ts'

describe('a quantity is kept in one form', () => {
  // What a kube-apiserver 1.34 answers when these are sent.
  it.each([
    ['0.5', '500m'],
    ['1000m', '1'],
    ['1024Mi', '1Gi'],
    ['0.5Gi', '512Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1e9', '1e9'],
    ['12e6', '12e6'],
    ['0', '0'],
    ['-0', '0'],
    ['-1', '-1'],
    ['.5', '500m'],
    ['0.1Gi', '107374182400m'],
    ['0.0000000001', '1n'],
    ['100Ki', '100Ki'],
    ['4', '4'],
    ['1500m', '1500m'],
  ])('%s as %s', (sent, kept) => {
    expect(canonicalQuantity(sent)).toBe(kept)
  })

  it.each(['', 'abc', '1.2.3', '1KiB', '1 Gi', '.', 'e3', '1e9999999', '9'.repeat(100)])('%s is none', (text) => {
    expect(canonicalQuantity(text)).toBeUndefined()
  })

  it('which says the same, and is its own', () => {
    const suffix = fc.constantFrom('', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi')
    fc.assert(
      fc.property(fc.nat(1_000_000), suffix, (amount, unit) => {
        const text = `${amount}${unit}`
        const kept = canonicalQuantity(text) ?? ''
        expect(parseQuantity(kept)).toBe(parseQuantity(text))
        expect(canonicalQuantity(kept)).toBe(kept)
      }),
    )
  })
})
