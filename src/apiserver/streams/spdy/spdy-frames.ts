/** A frame of SPDY/3.1. Header blocks are still compressed. */
export type SpdyFrame =
  | { readonly type: 'data'; readonly stream: number; readonly last: boolean; readonly data: Buffer }
  | {
      readonly type: 'open'
      readonly stream: number
      readonly last: boolean
      readonly oneWay: boolean
      readonly headers: Buffer
    }
  | { readonly type: 'reply' | 'headers'; readonly stream: number; readonly last: boolean; readonly headers: Buffer }
  | { readonly type: 'reset'; readonly stream: number; readonly status: number }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goAway'; readonly lastStream: number; readonly status: number }
  | { readonly type: 'windowUpdate'; readonly stream: number; readonly delta: number }
  | { readonly type: 'settings' }

/** The peer does not speak proper SPDY/3.1: the connection cannot go on. */
export class SpdyViolation extends Error {
  override readonly name = 'SpdyViolation'
}

export const resetStatus = { protocolError: 1, invalidStream: 2, refused: 3, cancel: 5 } as const

const controlTypes = {
  open: 1,
  reply: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const
const lastFlag = 1
const oneWayFlag = 2
const headBytes = 8
const largestControl = 64 * 2 ** 10
const largestData = 4 * 2 ** 20

/** Splits a stream of bytes into frames, within bounds. */
export class SpdyFrameReader {
  #chunks: Buffer[] = []
  #size = 0
  #needed = headBytes

  #joined(): Buffer {
    const [only] = this.#chunks
    const bytes = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#size)
    this.#chunks = [bytes]
    return bytes
  }

  /** The frames that these bytes complete. */
  *read(chunk: Buffer): Generator<SpdyFrame> {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    while (this.#size >= this.#needed) {
      const bytes = this.#joined()
      const end = headBytes + readLength(bytes)
      if (bytes.length < end) {
        this.#needed = end
        continue
      }
      this.#chunks = [bytes.subarray(end)]
      this.#size = bytes.length - end
      this.#needed = headBytes
      yield decode(bytes.subarray(0, end))
    }
  }
}

function readLength(bytes: Buffer): number {
  const control = (bytes.readUInt8(0) & 0x80) !== 0
  const length = bytes.readUIntBE(5, 3)
  const most = control ? largestControl : largestData
  if (length > most) throw new SpdyViolation(`a frame has ${length} bytes, ${most} are allowed`)
  return length
}

function decode(bytes: Buffer): SpdyFrame {
  const word = bytes.readUInt32BE(0)
  const flags = bytes.readUInt8(4)
  const body = bytes.subarray(headBytes)
  const last = (flags & lastFlag) !== 0
  if (word < 0x8000_0000) {
    if (word === 0) throw new SpdyViolation('data for the stream 0')
    return { type: 'data', stream: word, last, data: body }
  }
  const version = (word >>> 16) & 0x7fff
  if (version !== 3) throw new SpdyViolation(`the version is ${version}, not 3`)
  const type = word & 0xffff
  const number = (at: number) => readNumber(body, at)
  switch (type) {
    case controlTypes.open:
      return {
        type: 'open',
        stream: streamId(body),
        last,
        oneWay: (flags & oneWayFlag) !== 0,
        headers: after(body, 10),
      }
    case controlTypes.reply:
      return { type: 'reply', stream: streamId(body), last, headers: after(body, 4) }
    case controlTypes.headers:
      return { type: 'headers', stream: streamId(body), last, headers: after(body, 4) }
    case controlTypes.reset:
      return { type: 'reset', stream: streamId(body), status: number(4) }
    case controlTypes.settings:
      return { type: 'settings' }
    case controlTypes.ping:
      return { type: 'ping', id: number(0) }
    case controlTypes.goAway:
      return { type: 'goAway', lastStream: number(0) & 0x7fff_ffff, status: number(4) }
    case controlTypes.windowUpdate:
      return { type: 'windowUpdate', stream: number(0) & 0x7fff_ffff, delta: number(4) & 0x7fff_ffff }
    default:
      throw new SpdyViolation(`there is no frame of the type ${type}`)
  }
}

function readNumber(body: Buffer, at: number): number {
  if (body.length < at + 4) throw new SpdyViolation('a frame is too short for its type')
  return body.readUInt32BE(at)
}

function streamId(body: Buffer): number {
  const id = readNumber(body, 0) & 0x7fff_ffff
  if (id === 0) throw new SpdyViolation('a frame is for the stream 0')
  return id
}

function after(body: Buffer, bytes: number): Buffer {
  if (body.length < bytes) throw new SpdyViolation('a frame is too short for its type')
  return body.subarray(bytes)
}

export function encodeSpdyFrame(frame: SpdyFrame): Buffer {
  switch (frame.type) {
    case 'data': {
      const head = Buffer.alloc(headBytes)
      head.writeUInt32BE(frame.stream, 0)
      head.writeUInt8(frame.last ? lastFlag : 0, 4)
      head.writeUIntBE(frame.data.length, 5, 3)
      return Buffer.concat([head, frame.data])
    }
    case 'open': {
      const flags = (frame.last ? lastFlag : 0) | (frame.oneWay ? oneWayFlag : 0)
      return control(controlTypes.open, flags, [frame.stream, 0], Buffer.concat([Buffer.alloc(2), frame.headers]))
    }
    case 'reply':
      return control(controlTypes.reply, frame.last ? lastFlag : 0, [frame.stream], frame.headers)
    case 'headers':
      return control(controlTypes.headers, frame.last ? lastFlag : 0, [frame.stream], frame.headers)
    case 'reset':
      return control(controlTypes.reset, 0, [frame.stream, frame.status])
    case 'ping':
      return control(controlTypes.ping, 0, [frame.id])
    case 'goAway':
      return control(controlTypes.goAway, 0, [frame.lastStream, frame.status])
    case 'windowUpdate':
      return control(controlTypes.windowUpdate, 0, [frame.stream, frame.delta])
    default:
      frame satisfies { type: 'settings' }
      return control(controlTypes.settings, 0, [0])
  }
}

function control(type: number, flags: number, numbers: readonly number[], rest: Buffer = Buffer.alloc(0)): Buffer {
  const length = numbers.length * 4 + rest.length
  const bytes = Buffer.alloc(headBytes + numbers.length * 4)
  bytes.writeUInt32BE((0x8003_0000 | type) >>> 0, 0)
  bytes.writeUInt8(flags, 4)
  bytes.writeUIntBE(length, 5, 3)
  for (const [index, number] of numbers.entries()) bytes.writeUInt32BE(number, headBytes + index * 4)
  return Buffer.concat([bytes, rest])
}
