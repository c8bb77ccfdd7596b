import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Frame,
  FrameReader,
  type Opcode,
  WebSocketViolation,
  closePayload,
  encodeFrame,
  frameHead,
  opcodes,
  readClose,
  unmasked,
} from './websocket-frames.ts'
import { MessageAssembler } from './websocket-messages.ts'

const mostBytes = 100_000

function clientFrame(opcode: Opcode, payload: Buffer, final = true, mask = Buffer.of(1, 2, 3, 4)): Buffer {
  return Buffer.concat([frameHead(opcode, payload.length, final, mask), unmasked(payload, mask)])
}

function readAll(bytes: Buffer, cuts: readonly number[] = []): Frame[] {
  const reader = new FrameReader(mostBytes)
  const places = [0, ...[...cuts].map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).flatMap((end, index) => [...reader.read(bytes.subarray(places[index], end))])
}

function codeOf(read: () => unknown): number {
  try {
    read()
  } catch (error) {
    if (error instanceof WebSocketViolation) return error.code
    throw error
  }
  return 0
}

describe('frames of a WebSocket', () => {
  it('come out as they went in, however they are cut and masked', () => {
    const dataFrame = fc.record({
      opcode: fc.constantFrom(opcodes.text, opcodes.binary, opcodes.continuation),
      final: fc.boolean(),
      payload: fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom(125, 126, 127, 65_535, 65_536).map((length) => new Uint8Array(length).fill(7)),
      ),
      mask: fc.uint8Array({ minLength: 4, maxLength: 4 }),
    })
    fc.assert(
      fc.property(fc.array(dataFrame, { maxLength: 4 }), fc.array(fc.nat(), { maxLength: 6 }), (frames, cuts) => {
        const sent = frames.map(({ opcode, final, payload, mask }) =>
          clientFrame(opcode, Buffer.from(payload), final, Buffer.from(mask)),
        )
        const seen = readAll(Buffer.concat(sent), cuts)
        expect(seen).toEqual(
          frames.map(({ opcode, final, payload }) => ({ opcode, final, payload: Buffer.from(payload) })),
        )
      }),
      { numRuns: 60 },
    )
  })

  it('never bring the reader down with anything but a violation', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect([0, 1002, 1009]).toContain(codeOf(() => readAll(Buffer.from(bytes))))
      }),
    )
  })

  it.each([
    ['without a mask', encodeFrame(opcodes.binary, Buffer.from('x')), 1002],
    ['with reserved bits', Buffer.of(0xc2, 0x80, 0, 0, 0, 0), 1002],
    ['of an unknown kind', Buffer.of(0x83, 0x80, 0, 0, 0, 0), 1002],
    ['that control in pieces', clientFrame(opcodes.ping, Buffer.alloc(0), false), 1002],
    ['that control at length', clientFrame(opcodes.ping, Buffer.alloc(126)), 1002],
    ['with a length longer than it need be', Buffer.of(0x82, 0xfe, 0, 5, 0, 0, 0, 0), 1002],
    ['with a length of 64 bits that 16 could say', Buffer.of(0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0), 1002],
    ['that are too large, before they are there', Buffer.of(0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0), 1009],
    ['with a length beyond all numbers', Buffer.from([0x82, 0xff, ...Array(8).fill(0xff), 0, 0, 0, 0]), 1009],
  ])('%s are refused', (_, bytes, code) => {
    expect(codeOf(() => readAll(bytes))).toBe(code)
  })
})

describe('messages of a WebSocket', () => {
  const frame = (opcode: Opcode, text: string, final: boolean): Frame => ({ opcode, final, payload: Buffer.from(text) })

  it('are put together from their frames', () => {
    const assembler = new MessageAssembler(100)
    expect(assembler.add(frame(opcodes.text, 'a', false))).toBeUndefined()
    expect(assembler.add(frame(opcodes.continuation, '', false))).toBeUndefined()
    expect(assembler.add(frame(opcodes.continuation, 'b', true))).toEqual({ text: true, data: Buffer.from('ab') })
    expect(assembler.add(frame(opcodes.binary, '', true))).toEqual({ text: false, data: Buffer.alloc(0) })
  })

  it('are refused out of order, too large and as text that is none', () => {
    const started = () => {
      const assembler = new MessageAssembler(3)
      assembler.add(frame(opcodes.binary, 'ab', false))
      return assembler
    }
    expect(codeOf(() => new MessageAssembler(3).add(frame(opcodes.continuation, 'x', true)))).toBe(1002)
    expect(codeOf(() => started().add(frame(opcodes.binary, 'x', true)))).toBe(1002)
    expect(codeOf(() => started().add(frame(opcodes.continuation, 'cd', true)))).toBe(1009)
    const torn = { opcode: opcodes.text, final: true, payload: Buffer.of(0xc3) }
    expect(codeOf(() => new MessageAssembler(3).add(torn))).toBe(1007)
  })
})

describe('the end of a WebSocket', () => {
  it('says its code and reason, cut to what fits', () => {
    expect(readClose(closePayload(1001, 'bye'))).toEqual({ code: 1001, reason: 'bye' })
    expect(readClose(Buffer.alloc(0))).toEqual({ code: 1005, reason: '' })
    const long = closePayload(1000, 'ä'.repeat(100))
    expect(long.length).toBeLessThanOrEqual(125)
    expect(readClose(long).reason).toBe('ä'.repeat(61))
  })

  it.each([
    [Buffer.of(3), 1002],
    [closePayload(1005, ''), 1002],
    [closePayload(999, ''), 1002],
    [Buffer.of(3, 0xe8, 0xff), 1007],
  ])('is refused when it is %o', (payload, code) => {
    expect(codeOf(() => readClose(payload))).toBe(code)
  })
})
