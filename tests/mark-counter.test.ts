import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { MarkCounter } from '../bench/mark-counter.ts'

const mark = '{"type":"ADDED"'

/** The text as a chunked body: each chunk has this many bytes, except the last. */
function chunked(text: string, size: number): string {
  const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, at * size + size),
  )
  return chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
}

function countIn(wire: string, pieceSize: number): number {
  const counter = new MarkCounter(mark)
  for (let at = 0; at < wire.length; at += pieceSize) counter.add(Buffer.from(wire.slice(at, at + pieceSize)))
  return counter.count
}

it('the watcher of the bench counts every event once, wherever the connection and the chunks cut it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(30), { maxLength: 8 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 80 }),
      (fillings, chunkSize, pieceSize) => {
        const events = fillings.map((length) => `${mark},"object":"${'{'.repeat(length)}"}\n{"type":"DELETED"}\n`)
        expect(countIn(chunked(events.join(''), chunkSize), pieceSize)).toBe(events.length)
      },
    ),
  )
})
