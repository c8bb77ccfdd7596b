import { type HeadKind, HeadReader, type HeadLimits, invalidHttp } from './head-reader.ts'
import type { HeaderField } from './header-field.ts'

/**
 * Removes a body's framing. `push` appends the payload to `pieces` (views, never copies) and returns where the body's
 * bytes end. It throws at the first byte that breaks the framing.
 */
export interface BodyDecoder {
  readonly done: boolean
  /** The fields after the last chunk; empty until `done`. */
  readonly trailers: readonly HeaderField[]
  /** Whether the last `push` took whole chunks in their plainest form: then its input can be sent on as it is. */
  readonly tookWholeChunks: boolean
  push(chunk: Buffer, start: number, pieces: Buffer[]): number
}

const noTrailers: readonly HeaderField[] = []

const trailerHeads: HeadKind<readonly HeaderField[]> = {
  begins: 'fields',
  parse: ({ fields }) => fields,
}

export const emptyBody: BodyDecoder = {
  done: true,
  trailers: noTrailers,
  tookWholeChunks: false,
  push: (_chunk, start) => start,
}

export class LengthDecoder implements BodyDecoder {
  readonly trailers = noTrailers
  readonly tookWholeChunks = false
  #left: number

  constructor(length: number) {
    this.#left = length
  }

  get done(): boolean {
    return this.#left === 0
  }

  get remaining(): number {
    return this.#left
  }

  push(chunk: Buffer, start: number, pieces: Buffer[]): number {
    const end = Math.min(chunk.length, start + this.#left)
    if (end > start) {
      pieces.push(rangeOf(chunk, start, end))
      this.#left -= end - start
    }
    return end
  }

  /** The rest of the body if all of it is here: most bodies come whole and need no list of pieces. */
  takeRest(chunk: Buffer, start: number): Buffer | undefined {
    const end = start + this.#left
    if (this.#left === 0 || end > chunk.length) return undefined
    this.#left = 0
    return rangeOf(chunk, start, end)
  }
}

/** A body that ends with its connection. */
export class UntilCloseDecoder implements BodyDecoder {
  readonly done = false
  readonly trailers = noTrailers
  readonly tookWholeChunks = false

  push(chunk: Buffer, start: number, pieces: Buffer[]): number {
    if (start < chunk.length) pieces.push(start === 0 ? chunk : chunk.subarray(start))
    return chunk.length
  }
}

/** A chunk's size and extensions. Their meaning is ignored, their form is checked. */
const sizeLine =
  /^([0-9A-Fa-f]{1,13})(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))?)*$/
const maxSizeLineBytes = 1_024
/**
 * How many bytes size lines may have in sum, beyond 16 and twice their chunk's length: nobody may send mostly framing.
 */
const mostExcessBytes = 16_384

export class ChunkedDecoder implements BodyDecoder {
  readonly #limits: HeadLimits
  #trailerReader: HeadReader<readonly HeaderField[]> | undefined
  #state: 'size' | 'data' | 'data-end' | 'trailers' | 'done' = 'size'
  #line = ''
  #left = 0
  #excessBytes = 0
  #trailers = noTrailers
  #isPlain = false

  constructor(limits: HeadLimits) {
    this.#limits = limits
  }

  get done(): boolean {
    return this.#state === 'done'
  }

  get trailers(): readonly HeaderField[] {
    return this.#trailers
  }

  get tookWholeChunks(): boolean {
    return this.#isPlain && this.#state === 'size' && this.#line === ''
  }

  push(chunk: Buffer, start: number, pieces: Buffer[]): number {
    let at = start
    this.#isPlain = this.#state === 'size' && this.#line === ''
    while (at < chunk.length && this.#state !== 'done') {
      switch (this.#state) {
        case 'size':
          at = this.#readPlainSize(chunk, at) || this.#readSize(chunk, at)
          break
        case 'data': {
          const end = Math.min(chunk.length, at + this.#left)
          pieces.push(chunk.subarray(at, end))
          this.#left -= end - at
          at = end
          if (this.#left === 0) this.#state = 'data-end'
          break
        }
        case 'data-end':
          at = this.#readDataEnd(chunk, at)
          break
        case 'trailers':
          at = this.#readTrailers(chunk, at)
          break
      }
    }
    return at
  }

  /** Reads a plain size line, as almost all are; returns 0 if it is not plain or not complete. */
  #readPlainSize(chunk: Buffer, start: number): number {
    if (this.#line !== '') return 0
    let size = 0
    let at = start
    for (let digit = hexDigit(chunk[at]); digit >= 0; digit = hexDigit(chunk[++at])) size = size * 16 + digit
    const digits = at - start
    if (digits === 0 || digits > 7 || chunk[at] !== 13 || chunk[at + 1] !== 10 || size === 0) return 0
    this.#left = size
    this.#state = 'data'
    return at + 2
  }

  #readSize(chunk: Buffer, at: number): number {
    this.#isPlain = false
    const lineFeed = chunk.indexOf(10, at)
    const stop = lineFeed < 0 ? chunk.length : lineFeed
    if (this.#line.length + stop - at > maxSizeLineBytes) throw invalidHttp('a chunk size line is too long')
    this.#line += chunk.toString('latin1', at, stop)
    if (lineFeed < 0) return stop
    const line = this.#line
    this.#line = ''
    if (!line.endsWith('\r')) throw invalidHttp('a chunk size line ends without CR')
    const match = sizeLine.exec(line.slice(0, -1))
    if (!match?.[1]) throw invalidHttp('a chunk size is malformed')
    this.#left = Number.parseInt(match[1], 16)
    this.#excessBytes = Math.max(0, this.#excessBytes + line.length - 16 - 2 * this.#left)
    if (this.#excessBytes > mostExcessBytes) throw invalidHttp('its chunks have more extensions than data')
    this.#state = this.#left === 0 ? 'trailers' : 'data'
    return lineFeed + 1
  }

  #readDataEnd(chunk: Buffer, at: number): number {
    if (this.#line === '' && chunk[at] === 13 && chunk[at + 1] === 10) {
      this.#state = 'size'
      return at + 2
    }
    const expected = this.#line === '' ? 13 : 10
    if (chunk[at] !== expected) throw invalidHttp('a chunk is longer than its size')
    if (expected === 13) {
      this.#line = '\r'
    } else {
      this.#line = ''
      this.#state = 'size'
    }
    return at + 1
  }

  #readTrailers(chunk: Buffer, at: number): number {
    this.#trailerReader ??= new HeadReader(this.#limits, trailerHeads)
    const end = this.#trailerReader.push(chunk, at)
    if (end < 0) return chunk.length
    this.#trailers = this.#trailerReader.take()
    this.#state = 'done'
    return end
  }
}

/** Avoids a new view if it would cover the whole buffer. */
export function rangeOf(chunk: Buffer, start: number, end: number): Buffer {
  return start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end)
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
