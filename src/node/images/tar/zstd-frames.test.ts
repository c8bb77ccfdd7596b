import { zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { unpacked } from './layer-stream.ts'
import { UnpackBudget, usualLimits } from './unpack-budget.ts'

async function unpack(packed: Buffer, pieceBytes: number): Promise<Buffer> {
  async function* pieces() {
    for (let at = 0; at < packed.length; at += pieceBytes) yield packed.subarray(at, at + pieceBytes)
  }
  const found: Buffer[] = []
  const { signal } = new AbortController()
  for await (const piece of unpacked(pieces(), new UnpackBudget(usualLimits), signal)) found.push(piece)
  return Buffer.concat(found)
}

const texts = [
  Buffer.alloc(300_000, 'abc'),
  Buffer.from('second'),
  Buffer.alloc(0),
  Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7919) % 251)),
]
const skippable = Buffer.concat([Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0]), Buffer.from('hello')])

describe('a layer that zstd has packed', () => {
  it.each([16, 1000, 10_000_000])(
    'is unpacked to its end when it comes in frames and in pieces of %i bytes',
    async (pieceBytes) => {
      const packed = texts.flatMap((text) => [zstdCompressSync(text), skippable])
      expect((await unpack(Buffer.concat(packed), pieceBytes)).equals(Buffer.concat(texts))).toBe(true)
    },
  )

  it.each([
    ['is cut off in a frame', Buffer.concat(texts.map((text) => zstdCompressSync(text))).subarray(0, -20), /ends|end/],
    [
      'goes on with something else',
      Buffer.concat([zstdCompressSync(Buffer.from('a')), Buffer.from('something else')]),
      /not zstd all the way/,
    ],
    [
      'has a block that is none',
      Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x50]), Buffer.from([7, 0, 0]), Buffer.alloc(20)]),
      /no known type|cannot be unpacked/,
    ],
  ])('that %s is refused', async (_, packed, message) => {
    await expect(unpack(packed, 1000)).rejects.toThrow(message)
  })
})
