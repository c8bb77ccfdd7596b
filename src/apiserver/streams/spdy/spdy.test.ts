import { PassThrough } from 'node:stream'
import { constants, createDeflate, deflateSync, inflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spdyDictionary } from './spdy-dictionary.ts'
import { type SpdyFrame, SpdyFrameReader, SpdyViolation, encodeSpdyFrame } from './spdy-frames.ts'
import { HeaderReader, HeaderWriter, type SpdyHeaders, renderHeaders } from './spdy-headers.ts'

const streamId = fc.integer({ min: 1, max: 0x7fff_ffff })
const number = fc.nat({ max: 0x7fff_ffff })
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const frames: fc.Arbitrary<SpdyFrame> = fc.oneof(
  fc.record({ type: fc.constant('data' as const), stream: streamId, last: fc.boolean(), data: bytes }),
  fc.record({
    type: fc.constant('open' as const),
    stream: streamId,
    last: fc.boolean(),
    oneWay: fc.boolean(),
    headers: bytes,
  }),
  fc.record({
    type: fc.constantFrom('reply' as const, 'headers' as const),
    stream: streamId,
    last: fc.boolean(),
    headers: bytes,
  }),
  fc.record({ type: fc.constant('reset' as const), stream: streamId, status: number }),
  fc.record({ type: fc.constant('ping' as const), id: number }),
  fc.record({ type: fc.constant('goAway' as const), lastStream: number, status: number }),
  fc.record({ type: fc.constant('windowUpdate' as const), stream: number, delta: number }),
  fc.constant({ type: 'settings' as const }),
)

function refusalOf(read: () => unknown): unknown {
  try {
    read()
  } catch (error) {
    return error
  }
  return undefined
}

function readAll(all: Buffer, cuts: readonly number[] = []): SpdyFrame[] {
  const reader = new SpdyFrameReader()
  const places = [0, ...cuts.map((cut) => cut % (all.length + 1)).sort((a, b) => a - b), all.length]
  return places.slice(1).flatMap((end, index) => [...reader.read(all.subarray(places[index], end))])
}

describe('frames of SPDY/3.1', () => {
  it('come out as they went in, however they are cut', () => {
    fc.assert(
      fc.property(fc.array(frames, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 6 }), (sent, cuts) => {
        expect(readAll(Buffer.concat(sent.map(encodeSpdyFrame)), cuts)).toEqual(sent)
      }),
      { numRuns: 100 },
    )
  })

  it('never bring the reader down with anything but a violation', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (junk) => {
        expect(refusalOf(() => readAll(Buffer.from(junk)))).toSatisfy(
          (error) => error === undefined || error instanceof SpdyViolation,
        )
      }),
    )
  })

  it.each([
    ['of another version', Buffer.from('8002000600000004'.concat('00000001'), 'hex'), 'version'],
    ['of an unknown type', Buffer.from('8003000a00000000', 'hex'), 'type 10'],
    ['too short for their type', Buffer.from('800300060000000100', 'hex'), 'too short'],
    ['for the stream 0', Buffer.from('0000000000000000', 'hex'), 'stream 0'],
    ['that control at length, before they are there', Buffer.from('8003000100ffffff', 'hex'), 'allowed'],
    ['of too much data, before it is there', Buffer.from('0000000100ffffff', 'hex'), 'allowed'],
  ])('%s are refused', (_, junk, why) => {
    expect(() => readAll(junk)).toThrow(why)
  })
})

/** Compresses blocks as a client does: one stream for all blocks of the connection. */
function blocksOf(...all: readonly Buffer[]): Promise<Buffer[]> {
  const deflate = createDeflate({ dictionary: spdyDictionary })
  const out = deflate.pipe(new PassThrough())
  return all.reduce<Promise<Buffer[]>>(async (before, block) => {
    const blocks = await before
    deflate.write(block)
    await new Promise<void>((resolve) => {
      deflate.flush(constants.Z_SYNC_FLUSH, resolve)
    })
    await new Promise((resolve) => setImmediate(resolve))
    const chunk: unknown = out.read()
    return [...blocks, Buffer.isBuffer(chunk) ? chunk : Buffer.alloc(0)]
  }, Promise.resolve([]))
}

describe('headers of SPDY/3', () => {
  it('are read as clients compress them, one block after the other', async () => {
    const first: SpdyHeaders = new Map([
      ['streamtype', 'error'],
      ['port', '8080'],
      ['requestid', '0'],
    ])
    const second: SpdyHeaders = new Map([...first, ['streamtype', 'data']])
    const reader = new HeaderReader()
    const blocks = await blocksOf(renderHeaders(first), renderHeaders(second))
    expect(blocks[1]?.length).toBeLessThan(renderHeaders(second).length)
    expect(await reader.read(blocks[0] ?? Buffer.alloc(0))).toEqual(first)
    expect(await reader.read(blocks[1] ?? Buffer.alloc(0))).toEqual(second)
    reader.close()
  })

  it('are written as any reader of zlib reads them', async () => {
    const headers: SpdyHeaders = new Map([['answer', 'yes']])
    const writer = new HeaderWriter()
    const both = Buffer.concat([writer.write(headers), writer.write(new Map())])
    const expanded = inflateSync(both, { finishFlush: constants.Z_SYNC_FLUSH })
    expect(expanded).toEqual(Buffer.concat([renderHeaders(headers), renderHeaders(new Map())]))
    const reader = new HeaderReader()
    expect(await reader.read(new HeaderWriter().write(headers))).toEqual(headers)
    reader.close()
  })

  it.each([
    ['are not compressed at all', Buffer.from('hello, this is not zlib')],
    ['swell up', deflateSync(Buffer.alloc(10_000_000), { dictionary: spdyDictionary })],
    ['are cut off', deflateSync(Buffer.of(0, 0, 0, 2, 0, 0, 0, 1), { dictionary: spdyDictionary })],
    ['are too many', deflateSync(Buffer.of(0, 1, 0, 0), { dictionary: spdyDictionary })],
    ['say more than they should', deflateSync(Buffer.of(0, 0, 0, 0, 9), { dictionary: spdyDictionary })],
    ['have names in capitals', deflateSync(renderHeaders(new Map([['Port', '1']])), { dictionary: spdyDictionary })],
  ])('are refused when they %s', async (_, block) => {
    const reader = new HeaderReader()
    await expect(reader.read(block)).rejects.toThrow(SpdyViolation)
    reader.close()
  })
})
