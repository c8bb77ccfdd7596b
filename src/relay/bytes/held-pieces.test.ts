import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HeldPieces } from './held-pieces.ts'

/** The memory that is behind the pieces. */
function roomsOf({ pieces }: HeldPieces): number {
  const rooms = new Set(pieces.map(({ buffer }) => buffer))
  return [...rooms].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

describe('HeldPieces', () => {
  it('holds what came, in its order', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 900, max: 3_000 })), {
      maxLength: 200,
    })
    fc.assert(
      fc.property(sizes, (all) => {
        const held = new HeldPieces()
        const came = all.map((size, index) => Buffer.alloc(size, index))
        for (const piece of came) held.add(piece)
        expect(Buffer.concat(held.pieces).equals(Buffer.concat(came))).toBe(true)
        expect(held.bytes).toBe(all.reduce((sum, size) => sum + size, 0))
      }),
      { numRuns: 300 },
    )
  })

  it('makes few pieces of many small ones, in little more memory than they need', () => {
    const held = new HeldPieces()
    const piece = Buffer.from('x')
    for (let count = 0; count < 1_000_000; count++) held.add(piece)
    expect(held.pieces.length).toBeLessThan(100)
    expect(roomsOf(held)).toBeLessThan(1_050_000)
  })

  it('takes little for who never comes further than a byte, and copies nothing that is large', () => {
    const held = new HeldPieces()
    held.add(Buffer.from('x'))
    expect(roomsOf(held)).toBeLessThanOrEqual(512)
    const large = Buffer.alloc(60_000)
    held.add(large)
    expect(held.pieces[1]).toBe(large)
  })
})
