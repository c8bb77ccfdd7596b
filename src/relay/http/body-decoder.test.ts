import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaultRelayLimits } from '../limits.ts'
import { type BodyDecoder, ChunkedDecoder, LengthDecoder, UntilCloseDecoder } from './body-decoder.ts'

function decodeIn(decoder: BodyDecoder, bytes: Buffer, cuts: readonly number[]): { payload: string; end: number } {
  const pieces: Buffer[] = []
  const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
  for (let index = 0; index + 1 < edges.length; index++) {
    const start = edges[index] ?? 0
    const end = decoder.push(bytes.subarray(start, edges[index + 1]), 0, pieces)
    if (decoder.done) return { payload: Buffer.concat(pieces).toString('latin1'), end: start + end }
  }
  return { payload: Buffer.concat(pieces).toString('latin1'), end: -1 }
}

const chunked = (text: string) => decodeIn(new ChunkedDecoder(defaultRelayLimits), Buffer.from(text, 'latin1'), [])

describe('ChunkedDecoder', () => {
  it('takes extensions, but not a body that is made of them', () => {
    const chunk = (extension: number, data: number) =>
      `${data.toString(16)};x=${'y'.repeat(extension)}\r\n${'d'.repeat(data)}\r\n`
    expect(chunked(`${chunk(900, 1_000).repeat(200)}0\r\n\r\n`).payload.length).toBe(200_000)
    expect(chunked(`${chunk(900, 1).repeat(10)}0\r\n\r\n`).payload.length).toBe(10)
    expect(() => chunked(`${chunk(900, 1).repeat(30)}0\r\n\r\n`)).toThrow('more extensions than data')
  })

  it('finds the same payload, trailers and end however the bytes are cut', () => {
    const chunks = fc.array(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 }), { maxLength: 6 })
    fc.assert(
      fc.property(chunks, fc.array(fc.nat(400), { maxLength: 10 }), (texts, rawCuts) => {
        const framed = texts.map((text) => `${text.length.toString(16)};x="a;b"\r\n${text}\r\n`).join('')
        const message = `${framed}00\r\nX-Sum: 1\r\nX-B: 2\r\n\r\n`
        const bytes = Buffer.from(`${message}NEXT`, 'latin1')
        const decoder = new ChunkedDecoder(defaultRelayLimits)
        const cuts = [...new Set(rawCuts)].filter((cut) => cut > 0 && cut < bytes.length)
        expect(decodeIn(decoder, bytes, cuts)).toEqual({ payload: texts.join(''), end: message.length })
        expect(decoder.trailers.map(({ name, value }) => [name, value])).toEqual([
          ['X-Sum', '1'],
          ['X-B', '2'],
        ])
      }),
    )
  })

  it('says of whole plain chunks that they can go on as they are, and of nothing else', () => {
    const chunk = fc.record({
      text: fc.string({ unit: fc.constantFrom('x', '\r', '\n'), minLength: 1, maxLength: 20 }),
      extra: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 6 }), fc.array(fc.nat(150), { maxLength: 6 }), (chunks, rawCuts) => {
        const framed = chunks.map(({ text, extra }) => `${text.length.toString(16)}${extra ? ';x' : ''}\r\n${text}\r\n`)
        const bytes = Buffer.from(framed.join(''), 'latin1')
        const decoder = new ChunkedDecoder(defaultRelayLimits)
        const cuts = [...new Set([0, ...rawCuts.filter((cut) => cut < bytes.length), bytes.length])].toSorted(
          (a, b) => a - b,
        )
        for (const [index, start] of cuts.slice(0, -1).entries()) {
          const piece = bytes.subarray(start, cuts[index + 1])
          const pieces: Buffer[] = []
          decoder.push(piece, 0, pieces)
          if (!decoder.tookWholeChunks) continue
          const text = piece.toString('latin1')
          expect(text).not.toMatch(/^[0-9a-f]+;/m)
          expect(chunked(`${text}0\r\n\r\n`)).toEqual({
            payload: Buffer.concat(pieces).toString('latin1'),
            end: text.length + 5,
          })
        }
        const isPlain = chunks.length > 0 && chunks.every(({ extra }) => !extra)
        expect(decoder.tookWholeChunks || !isPlain || cuts.length > 2).toBe(true)
      }),
    )
  })

  it.each([
    ['a size that is no number', 'x\r\n'],
    ['an empty size', '\r\n'],
    ['a signed size', '-1\r\n'],
    ['a prefixed size', '0x1\r\na\r\n'],
    ['a size beyond all measure', 'fffffffffffffff\r\n'],
    ['a blank after the size', '1 \r\na\r\n'],
    ['a size line ending in a bare LF', '1\na\r\n'],
    ['data longer than its size', '1\r\nab\r\n'],
    ['data that ends in a bare LF', '1\r\na\n0\r\n\r\n'],
    ['a CR inside the size line', '1\r\r\na\r\n'],
    ['an extension without a name', '1;\r\na\r\n'],
    ['an extension without end', `1;${'a'.repeat(2_000)}`],
    ['a bare LF in the trailers', '0\r\nA: b\n\r\n'],
    ['a folded trailer', '0\r\nA: b\r\n c\r\n\r\n'],
    ['endless trailers', `0\r\n${'a: b\r\n'.repeat(201)}`],
  ])('refuses %s', (_name, text) => {
    expect(() => chunked(text)).toThrow(/not valid HTTP|larger than this server takes/)
  })
})

describe('LengthDecoder', () => {
  it('takes its length and leaves the rest', () => {
    expect(decodeIn(new LengthDecoder(5), Buffer.from('helloGET /'), [2])).toEqual({ payload: 'hello', end: 5 })
  })
})

describe('UntilCloseDecoder', () => {
  it('takes everything and is never done by itself', () => {
    expect(decodeIn(new UntilCloseDecoder(), Buffer.from('hello'), [2])).toEqual({ payload: 'hello', end: -1 })
  })
})
