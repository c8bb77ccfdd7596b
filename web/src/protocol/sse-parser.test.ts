import { describe, expect, test } from 'vitest'
import { MAX_PENDING_CHARACTERS, SseParser, type SseFrame } from './sse-parser.ts'

const message = (data: string, event = 'message'): SseFrame => ({ kind: 'message', event, data })

function parseInPieces(text: string, size: number): SseFrame[] {
  const parser = new SseParser()
  const frames: SseFrame[] = []
  for (let i = 0; i < text.length; i += size) frames.push(...parser.push(text.slice(i, i + size)))
  return [...frames, ...parser.end()]
}

describe('SseParser', () => {
  const stream =
    ': waking smollm2: starting, 3 s\n\n' +
    'data: {"a":1}\r\n\r\n' +
    'event: error\rdata: line one\rdata: line two\r\r' +
    'id: 7\ndata:no space\n\n' +
    'data\n\n' +
    'data: [DONE]\n\n'

  const expected: SseFrame[] = [
    { kind: 'comment', text: 'waking smollm2: starting, 3 s' },
    message('{"a":1}'),
    message('line one\nline two', 'error'),
    message('no space'),
    message(''),
    message('[DONE]'),
  ]

  test('gives the same frames wherever the chunks are cut', () => {
    for (let size = 1; size <= stream.length; size++) {
      expect(parseInPieces(stream, size), `pieces of ${size}`).toEqual(expected)
    }
  })

  test('gives a frame as soon as its blank line is there', () => {
    const parser = new SseParser()
    expect(parser.push('data: x\n')).toEqual([])
    expect(parser.push('\n')).toEqual([message('x')])
  })

  test('drops an event that the end of the stream cut in two', () => {
    expect(parseInPieces('data: whole\n\ndata: half', 5)).toEqual([message('whole')])
  })

  test('finishes an event whose last line end was a lone CR', () => {
    expect(parseInPieces('data: x\r\r', 3)).toEqual([message('x')])
  })

  test('ignores a byte order mark and the event name of an event without data', () => {
    expect(parseInPieces('\uFEFFevent: ping\n\ndata: x\n\n', 1)).toEqual([message('x')])
  })

  test('refuses to buffer without end', () => {
    const parser = new SseParser()
    const piece = 'x'.repeat(MAX_PENDING_CHARACTERS / 2)
    parser.push(`data: ${piece}`)
    expect(() => parser.push(piece)).toThrow(RangeError)
    const lines = new SseParser()
    lines.push(`data: ${piece}\n`)
    expect(() => lines.push(`data: ${piece}x\n`)).toThrow(RangeError)
  })
})
