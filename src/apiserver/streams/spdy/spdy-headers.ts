import { constants, createInflate } from 'node:zlib'
import { spdyDictionary } from './spdy-dictionary.ts'
import { SpdyViolation } from './spdy-frames.ts'

export type SpdyHeaders = ReadonlyMap<string, string>

const mostBytes = 64 * 2 ** 10
const mostHeaders = 100
const largestStored = 65_535
const emptyBlock = Buffer.of(0, 0, 0, 0xff, 0xff)

/** Reads header blocks. All blocks of a connection are one compressed stream, so they must be read in order. */
export class HeaderReader {
  readonly #inflate = createInflate({ dictionary: spdyDictionary, finishFlush: constants.Z_SYNC_FLUSH })
  #failed: Error | undefined

  constructor() {
    this.#inflate.on('error', (error) => (this.#failed = error))
  }

  async read(block: Buffer): Promise<SpdyHeaders> {
    return parseHeaders(await this.#expand(block))
  }

  close(): void {
    this.#inflate.close()
  }

  /** A small block can expand to a huge one, so it is only read as far as a client has reason to write. */
  #expand(block: Buffer): Promise<Buffer> {
    const inflate = this.#inflate
    return new Promise((resolve, reject) => {
      if (this.#failed) return reject(new SpdyViolation('the headers cannot be read any more'))
      const parts: Buffer[] = []
      let size = 0
      const settle = (done: () => void) => {
        inflate.off('data', collect)
        inflate.off('error', fail)
        done()
      }
      const fail = (error: Error) => settle(() => reject(new SpdyViolation(`headers: ${error.message}`)))
      const collect = (part: Buffer) => {
        parts.push(part)
        size += part.length
        if (size <= mostBytes) return
        this.#failed = new Error('too long')
        settle(() => reject(new SpdyViolation(`headers have more than ${mostBytes} bytes`)))
        inflate.destroy()
      }
      inflate.on('data', collect)
      inflate.once('error', fail)
      inflate.write(block, (error) => {
        if (!error) settle(() => resolve(Buffer.concat(parts, size)))
      })
    })
  }
}

/**
 * Writes header blocks without compression, since answers have hardly any headers. The format is still that of zlib,
 * with an empty block at the end of each, at which readers stop to wait for the next one.
 */
export class HeaderWriter {
  #begun = false

  write(headers: SpdyHeaders): Buffer {
    const block = renderHeaders(headers)
    if (block.length > largestStored) throw new Error('these headers are too long to be sent')
    const head = Buffer.alloc(5)
    head.writeUInt16LE(block.length, 1)
    head.writeUInt16LE(block.length ^ 0xffff, 3)
    const begin = this.#begun ? Buffer.alloc(0) : Buffer.of(0x78, 0x01)
    this.#begun = true
    return Buffer.concat([begin, head, block, emptyBlock])
  }
}

export function renderHeaders(headers: SpdyHeaders): Buffer {
  const parts = [number(headers.size)]
  for (const [name, value] of headers) {
    for (const text of [Buffer.from(name), Buffer.from(value)]) parts.push(number(text.length), text)
  }
  return Buffer.concat(parts)
}

function parseHeaders(block: Buffer): SpdyHeaders {
  let at = 0
  const readNumber = () => {
    if (at + 4 > block.length) throw new SpdyViolation('the headers are cut off')
    at += 4
    return block.readUInt32BE(at - 4)
  }
  const readText = () => {
    const length = readNumber()
    if (at + length > block.length) throw new SpdyViolation('the headers are cut off')
    at += length
    return block.toString('utf8', at - length, at)
  }
  const count = readNumber()
  if (count > mostHeaders) throw new SpdyViolation(`there are ${count} headers, ${mostHeaders} are allowed`)
  const headers = new Map<string, string>()
  for (let index = 0; index < count; index += 1) {
    const name = readText()
    if (name === '' || name !== name.toLowerCase() || headers.has(name)) {
      throw new SpdyViolation('names of headers must be in lower case and different from each other')
    }
    headers.set(name, readText())
  }
  if (at < block.length) throw new SpdyViolation('there is more than the headers')
  return headers
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
