import { describe, expect, it } from 'vitest'
import { eventFrames } from './event-frames.ts'

async function framesOf(pieces: readonly Uint8Array[]) {
  const frames = []
  for await (const frame of eventFrames(ReadableStream.from(pieces))) frames.push(frame)
  return frames
}

describe('eventFrames', () => {
  it.each(['\n', '\r\n'])('reads events with the line end %j, wherever the bytes are cut', async (lineEnd) => {
    const bytes = Buffer.from([': waking', '', 'data: {"ö":', 'data: 1}', '', 'data:[DONE]', '', ''].join(lineEnd))
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(await framesOf([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual([
        { data: '', comment: 'waking' },
        { data: '{"ö":\n1}', comment: '' },
        { data: '[DONE]', comment: '' },
      ])
    }
  })

  it('takes an answer that is no stream as data', async () => {
    expect(await framesOf([Buffer.from('{"error":'), Buffer.from('{}}')])).toEqual([
      { data: '{"error":{}}', comment: '' },
    ])
  })

  it('holds no frame without an end', async () => {
    await expect(framesOf(Array.from({ length: 9 }, () => Buffer.alloc(1024 * 1024, 'x')))).rejects.toThrow('no stream')
  })
})
