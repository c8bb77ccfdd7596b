import { STATUS_CODES } from 'node:http'
import type { HeaderPairs } from './exchange.ts'
import { isFieldValue, isToken } from './head-reader.ts'
import type { HttpVersion } from './message-facts.ts'
import type { OutputBatch } from './output-batch.ts'
import { isBodiless } from './response-head.ts'

export interface ResponseContext {
  readonly method: string
  readonly version: HttpVersion
  /** Whether the connection would be kept, as things stand when the head is written. */
  readonly keepAlive: () => boolean
  readonly now: () => number
}

type Framing = 'none' | 'length' | 'chunked' | 'until-close'

/** Fields that are the relay's own business in a response; whoever sets them, they are left out and made anew. */
const ownFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'content-length',
  'upgrade',
  'te',
])

/** Writes one response in the framing that its request allows. */
export class ResponseWriter {
  readonly #out: OutputBatch
  readonly #context: ResponseContext
  #framing: Framing = 'none'
  #left = 0
  #started = false
  #finished = false
  #closes = false

  constructor(out: OutputBatch, context: ResponseContext) {
    this.#out = out
    this.#context = context
  }

  get started(): boolean {
    return this.#started
  }

  get finished(): boolean {
    return this.#finished
  }

  /** Whether the connection ends with this response. */
  get closes(): boolean {
    return this.#closes
  }

  /** Whether more can be said than the head announced. */
  get openEnded(): boolean {
    return this.#framing === 'chunked' || this.#framing === 'until-close'
  }

  /** `length`: of the whole body, where it is known. Headers are taken as they are but for the relay's own. */
  begin(status: number, headers: HeaderPairs, length: number | undefined): void {
    if (this.#started) throw new Error('the response was already begun')
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    let bodyLength = length
    let dated = false
    let wantsClose = false
    for (const [name, value] of headers) {
      if (!isToken(name) || !isFieldValue(value)) throw new TypeError(`the header ${JSON.stringify(name)} is malformed`)
      const key = name.toLowerCase()
      if (key === 'connection' && value.toLowerCase() === 'close') wantsClose = true
      if (key === 'content-length') bodyLength ??= Number(value)
      if (ownFields.has(key)) continue
      if (key === 'date') dated = true
      head += `${name}: ${value}\r\n`
    }
    if (!dated) head += `date: ${httpDate(this.#context.now())}\r\n`
    this.#chooseFraming(status, bodyLength)
    if (bodyLength !== undefined && status !== 204) head += `content-length: ${bodyLength}\r\n`
    if (this.#framing === 'chunked') head += 'transfer-encoding: chunked\r\n'
    this.#closes = wantsClose || this.#framing === 'until-close' || !this.#context.keepAlive()
    if (this.#closes) head += 'connection: close\r\n'
    else if (this.#context.version === '1.0') head += 'connection: keep-alive\r\n'
    this.#started = true
    this.#out.add(`${head}\r\n`)
  }

  /** From here on the connection speaks another protocol. */
  switchProtocols(headers: HeaderPairs, protocol: string): void {
    let head = 'HTTP/1.1 101 Switching Protocols\r\n'
    for (const [name, value] of headers) head += `${name}: ${value}\r\n`
    this.#started = true
    this.#finished = true
    this.#closes = true
    this.#out.add(`${head}connection: Upgrade\r\nupgrade: ${protocol}\r\n\r\n`)
  }

  /** A 1xx before the real answer; HTTP/1.0 clients do not know them. */
  informational(status: number, headers: HeaderPairs): void {
    if (this.#started || this.#context.version === '1.0') return
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    for (const [name, value] of headers) head += `${name}: ${value}\r\n`
    this.#out.add(`${head}\r\n`)
  }

  pieces(pieces: readonly Buffer[]): void {
    if (this.#finished || this.#framing === 'none') return
    if (this.#framing === 'chunked') return this.#out.addChunk(pieces)
    for (const piece of pieces) {
      if (this.#framing === 'length') {
        this.#left -= piece.length
        if (this.#left < 0) throw new Error('the body is longer than its head said')
      }
      this.#out.add(piece)
    }
  }

  /** Returns false when a body of fixed length is cut short: only closing the connection can say so. */
  end(trailers: HeaderPairs = []): boolean {
    if (this.#finished) return true
    this.#finished = true
    if (this.#framing === 'chunked') {
      let tail = '0\r\n'
      for (const [name, value] of trailers) tail += `${name}: ${value}\r\n`
      this.#out.add(`${tail}\r\n`)
    }
    return this.#left === 0
  }

  flush(): boolean {
    return this.#out.flush()
  }

  #chooseFraming(status: number, length: number | undefined): void {
    if (this.#context.method === 'HEAD' || isBodiless(status)) {
      this.#framing = 'none'
    } else if (length !== undefined) {
      this.#framing = 'length'
      this.#left = length
    } else {
      this.#framing = this.#context.version === '1.1' ? 'chunked' : 'until-close'
    }
  }
}

let dateSecond = 0
let dateText = ''

/** Made once per second: a response needs it, and formatting costs more than the rest of a head. */
function httpDate(now: number): string {
  const second = Math.floor(now / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(now).toUTCString()
  }
  return dateText
}
