import { isUtf8 } from 'node:buffer'

/** The opcodes of RFC 6455. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export type Opcode = (typeof opcodes)[keyof typeof opcodes]

export interface Frame {
  readonly final: boolean
  readonly opcode: Opcode
  readonly payload: Buffer
}

/** What the peer did wrong, with the code the connection is closed with. */
export class WebSocketViolation extends Error {
  override readonly name = 'WebSocketViolation'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const known = new Set<number>(Object.values(opcodes))
const longestControl = 125

/**
 * Splits what a client sends into frames. Strict: whatever RFC 6455 forbids is a violation, never something to guess
 * about.
 */
export class FrameReader {
  readonly #mostBytes: number
  #chunks: Buffer[] = []
  #size = 0
  #needed = 2

  /** The largest frame allowed. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** The frames that these bytes complete. */
  *read(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    while (this.#size >= this.#needed) {
      const bytes = this.#joined()
      const head = this.#head(bytes)
      if (head === undefined) continue
      const end = head.begin + head.length
      if (bytes.length < end) {
        this.#needed = end
        continue
      }
      const payload = unmasked(bytes.subarray(head.begin, end), bytes.subarray(head.begin - 4, head.begin))
      this.#chunks = [bytes.subarray(end)]
      this.#size = bytes.length - end
      this.#needed = 2
      yield { final: head.final, opcode: head.opcode, payload }
    }
  }

  /** `undefined`: the head is not complete yet. */
  #head(bytes: Buffer): { final: boolean; opcode: Opcode; begin: number; length: number } | undefined {
    const first = bytes.readUInt8(0)
    const second = bytes.readUInt8(1)
    const opcode = first & 0x0f
    const final = (first & 0x80) !== 0
    if ((first & 0x70) !== 0) throw new WebSocketViolation(1002, 'reserved bits are set')
    if (!isOpcode(opcode)) throw new WebSocketViolation(1002, `the opcode ${opcode} is unknown`)
    if ((second & 0x80) === 0) throw new WebSocketViolation(1002, 'frames of a client must be masked')
    const short = second & 0x7f
    if (opcode >= opcodes.close && (short > longestControl || !final)) {
      throw new WebSocketViolation(1002, 'control frames have at most 125 bytes and are never fragmented')
    }
    const begin = short < 126 ? 6 : short === 126 ? 8 : 14
    if (bytes.length < begin) {
      this.#needed = begin
      return undefined
    }
    const length = readLength(bytes, short)
    if (length > this.#mostBytes) throw new WebSocketViolation(1009, `a frame has more than ${this.#mostBytes} bytes`)
    return { final, opcode, begin, length }
  }

  #joined(): Buffer {
    const [only] = this.#chunks
    const bytes = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#size)
    this.#chunks = [bytes]
    return bytes
  }
}

function isOpcode(value: number): value is Opcode {
  return known.has(value)
}

function readLength(bytes: Buffer, short: number): number {
  if (short < 126) return short
  const length = short === 126 ? bytes.readUInt16BE(2) : bytes.readBigUInt64BE(2)
  if (length < (short === 126 ? 126 : 65_536)) throw new WebSocketViolation(1002, 'a length is longer than it need be')
  // A length that does not fit a number exceeds every limit, too.
  return Number(length)
}

/** A copy with the four bytes of the mask applied. Word by word, which is several times as fast as byte by byte. */
export function unmasked(payload: Buffer, mask: Buffer): Buffer {
  const words = new Uint32Array(Math.ceil(payload.length / 4))
  const plain = Buffer.from(words.buffer)
  payload.copy(plain)
  const key = new Uint32Array(Uint8Array.from(mask).buffer)[0] ?? 0
  for (let index = 0; index < words.length; index += 1) words[index] = (words[index] ?? 0) ^ key
  return plain.subarray(0, payload.length)
}

/** The head of a frame, before its payload. With a mask it is a client's frame, whose payload the caller has masked. */
export function frameHead(opcode: Opcode, length: number, final = true, mask?: Buffer): Buffer {
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + extra)
  head[0] = (final ? 0x80 : 0) | opcode
  head[1] = (mask ? 0x80 : 0) | (extra === 0 ? length : extra === 2 ? 126 : 127)
  if (extra === 2) head.writeUInt16BE(length, 2)
  if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2)
  return mask ? Buffer.concat([head, mask]) : head
}

export function encodeFrame(opcode: Opcode, payload: Buffer): Buffer {
  return Buffer.concat([frameHead(opcode, payload.length), payload])
}

/** The code and reason of a close frame; an empty one means 1005. */
export function readClose(payload: Buffer): { code: number; reason: string } {
  if (payload.length === 0) return { code: 1005, reason: '' }
  if (payload.length === 1) throw new WebSocketViolation(1002, 'a close code has two bytes')
  const code = payload.readUInt16BE(0)
  const allowed = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999)
  if (!allowed) throw new WebSocketViolation(1002, `the close code ${code} may not be sent`)
  const reason = payload.subarray(2)
  if (!isUtf8(reason)) throw new WebSocketViolation(1007, 'the reason of a close is not UTF-8')
  return { code, reason: reason.toString('utf8') }
}

export function closePayload(code: number, reason: string): Buffer {
  let text = Buffer.from(reason)
  // Cut between characters: half of one would not be UTF-8.
  for (let length = longestControl - 2; text.length > longestControl - 2 || !isUtf8(text); length -= 1) {
    text = text.subarray(0, length)
  }
  const payload = Buffer.alloc(2 + text.length)
  payload.writeUInt16BE(code, 0)
  text.copy(payload, 2)
  return payload
}
