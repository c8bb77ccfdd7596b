import { expect, test } from 'vitest'
import { wavOf } from './wav.ts'

test('writes a header that says what follows, and samples within their bounds', () => {
  const wav = Buffer.from(wavOf(new Float32Array([0, 1, -1, 2])))
  expect(wav.subarray(0, 4).toString()).toBe('RIFF')
  expect(wav.readUInt32LE(4)).toBe(wav.length - 8)
  expect(wav.subarray(8, 16).toString()).toBe('WAVEfmt ')
  expect([wav.readUInt16LE(20), wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt16LE(34)]).toEqual([
    1, 1, 16_000, 16,
  ])
  expect(wav.readUInt32LE(40)).toBe(8)
  expect([0, 1, 2, 3].map((index) => wav.readInt16LE(44 + index * 2))).toEqual([0, 32_767, -32_767, 32_767])
})
