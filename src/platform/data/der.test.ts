import { array, assert, property, uint8Array } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contentOf, explicit, identifier, integer, octets, partsOf, sequence, time } from './der.ts'

const hex = (bytes: Buffer) => bytes.toString('hex')

describe('the distinguished encoding', () => {
  it('writes numbers, identifiers and times as others read them', () => {
    expect(hex(integer(Buffer.from([0])))).toBe('020100')
    expect(hex(integer(Buffer.from([0, 0, 0x7f])))).toBe('02017f')
    // A first bit that is set would make it negative.
    expect(hex(integer(Buffer.from([0x80])))).toBe('02020080')
    expect(hex(identifier('1.2.840.10045.4.3.2'))).toBe('06082a8648ce3d040302')
    expect(hex(identifier('2.5.29.15'))).toBe('0603551d0f')
    expect(time(Date.UTC(2049, 11, 31, 23, 59, 59)).toString('latin1', 2)).toBe('491231235959Z')
    expect(time(Date.UTC(2050, 0, 1)).toString('latin1', 2)).toBe('20500101000000Z')
    expect(hex(explicit(3, octets(Buffer.alloc(300)))).slice(0, 16)).toBe('a38201300482012c')
  })

  it('reads back the parts of what it wrote, however long they are', () => {
    assert(
      property(array(uint8Array({ maxLength: 70_000 }), { maxLength: 4 }), (contents) => {
        const parts = contents.map((content) => octets(Buffer.from(content)))
        const read = partsOf(sequence(...parts))
        expect(read.map(hex)).toEqual(parts.map(hex))
        expect(read.map((part) => hex(contentOf(part)))).toEqual(contents.map((content) => hex(Buffer.from(content))))
      }),
      { numRuns: 20 },
    )
  })

  it.each(['', '30', '3005', '308001', '3003040500', '30850000000001'])('refuses %s', (written) => {
    expect(() => partsOf(Buffer.from(written, 'hex'))).toThrow(/ends too early|cannot be read|longer than/)
  })
})
