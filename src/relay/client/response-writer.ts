import { STATUS_CODES } from 'node:http'
import type { Clock } from '../../foundation/clock.ts'
import type { Answer, HeaderPairs } from '../exchange.ts'
import { type HeaderField, isSet } from '../http/header-field.ts'
import { headerField } from '../http/header-list.ts'
import { lengthAtEnd } from '../http/length-line.ts'
import type { HttpVersion } from '../http/message-facts.ts'
import { isBodiless, type ParsedResponse } from '../http/response-head.ts'
import { maySet, type SentHead, type SentText, writeSentHead } from '../http/sent-heads.ts'
import type { OutputBatch } from '../socket/socket-output.ts'

export interface ResponseContext {
  readonly method: string
  readonly version: HttpVersion
  readonly clock: Clock
  /** Whether the connection can be kept, at the time the head is written. */
  keepsConnection(): boolean
}

type Framing = 'none' | 'length' | 'chunked' | 'until-close'

const none: readonly never[] = []

/** Writes one response, framed as its request allows. */
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

  /** Whether the body may still grow: no length was announced. */
  get openEnded(): boolean {
    return this.#framing === 'chunked' || this.#framing === 'until-close'
  }

  /** `length`: of the whole body, if known. `now`: the time, if known. */
  begin(status: number, fields: ResponseFields, length: number | undefined, now?: number): void {
    if (this.#started) throw new Error('the response was already begun')
    const bodyLength = length ?? fields.contentLength
    this.#chooseFraming(status, bodyLength)
    this.#closes = fields.wantsClose || this.#framing === 'until-close' || !this.#context.keepsConnection()
    this.#started = true
    const out = this.#out
    if (fields.sentHead) writeSentHead(fields.sentHead, fields.set, out)
    else out.addText(statusLine(status) + fields.text)
    if (!fields.dated) out.addBuffer(dateLine(now ?? this.#context.clock.now()))
    if (this.#closes) out.addText('connection: close\r\n')
    else if (this.#context.version === '1.0') out.addText('connection: keep-alive\r\n')
    if (this.#framing === 'chunked') out.addText('transfer-encoding: chunked\r\n\r\n')
    else if (bodyLength === undefined || status === 204) out.addText('\r\n')
    else out.addBuffer(lengthAtEnd(bodyLength))
  }

  /** Writes a whole answer of our own. */
  whole({ status, headers = [], body = '' }: Answer): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    this.begin(status, answerFields(headers), isBodiless(status) ? undefined : bytes.length)
    if (bytes.length > 0) this.pieces([bytes])
    this.end()
  }

  /** The connection switches to another protocol. */
  switchProtocols(head: string, protocol: string): void {
    this.#started = true
    this.#finished = true
    this.#closes = true
    this.#out.addText(`${head}connection: Upgrade\r\nupgrade: ${protocol}\r\n\r\n`)
  }

  /** Writes a 1xx response; HTTP/1.0 clients do not know them. */
  informational(head: string): void {
    if (this.#started || this.#context.version === '1.0') return
    this.#out.addText(`${head}\r\n`)
  }

  pieces(pieces: readonly Buffer[]): void {
    if (this.#finished || this.#framing === 'none') return
    if (this.#framing === 'chunked') return this.#out.addChunk(pieces)
    for (const piece of pieces) {
      if (this.#framing === 'length') {
        this.#left -= piece.length
        if (this.#left < 0) throw new Error('the body is longer than its head said')
      }
      this.#out.addBuffer(piece)
    }
  }

  /** Passes on whole chunks with their framing. Returns false if this response is framed differently. */
  chunks(framed: Buffer): boolean {
    if (this.#finished || this.#framing !== 'chunked') return false
    this.#out.addBuffer(framed)
    return true
  }

  /** Returns false if a body of fixed length is incomplete: then only closing the connection can tell. */
  end(trailers: readonly HeaderField[] = noTrailers): boolean {
    if (this.#finished) return true
    this.#finished = true
    if (this.#framing === 'chunked') {
      let tail = '0\r\n'
      for (const { line } of trailers) tail += line
      this.#out.addText(`${tail}\r\n`)
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

const noTrailers: readonly HeaderField[] = []

let dateSecond = 0
let dateBytes = Buffer.alloc(0)

/**
 * The date field. Remembers the line of the current second, because formatting a time takes longer than the rest of a
 * head.
 */
function dateLine(now: number): Buffer {
  const second = Math.floor(now / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateBytes = Buffer.from(`date: ${new Date(now).toUTCString()}\r\n`)
  }
  return dateBytes
}

/** The fields of a response on its way to the client, and what they imply for its head. */
export interface ResponseFields {
  /** The beginning of an upstream's head. */
  readonly sentHead: SentHead | undefined
  /** Set by the handler. For an upstream's response, `sentHead` already has those that stay the same. */
  readonly set: readonly HeaderField[]
  /** The fields of our own answer. */
  readonly text: string
  readonly dated: boolean
  readonly wantsClose: boolean
  readonly contentLength: number | undefined
}

/** The fields that a handler sets. Hop-by-hop and framing fields are left out: the relay sets these. */
export function answerFields(pairs: HeaderPairs): ResponseFields {
  let text = ''
  let dated = false
  let wantsClose = false
  let contentLength: number | undefined
  for (const [name, value] of pairs) {
    const { known, line } = headerField(name, value)
    if (known.role === 'connection' && value.toLowerCase() === 'close') wantsClose = true
    if (known.role === 'content-length') contentLength = Number(value)
    else if (!known.isHop) text += line
    dated ||= known.role === 'date'
  }
  return { sentHead: undefined, set: none, text, dated, wantsClose, contentLength }
}

/** The fields of an upstream's response for the client, with the handler's fields replacing those of the same name. */
export function forwardedFields(response: ParsedResponse, set: readonly HeaderField[] = none): ResponseFields {
  const { sentHeads, facts } = response
  const head = sentHeads.like('', set, none) ?? sentHeads.remember('', set, none, textDown(response, set))
  return { sentHead: head, set, text: '', dated: head.dated, wantsClose: false, contentLength: facts.contentLength }
}

/** The head of an interim (1xx) response, without its final empty line. */
export function interimHead(response: ParsedResponse, set: readonly HeaderField[] = none): string {
  let { text } = textDown(response, set)
  for (const field of set) if (maySet(field)) text += field.line
  return text
}

function textDown({ head, facts }: ParsedResponse, set: readonly HeaderField[]): SentText {
  let text = statusLine(head.status)
  let dated = isSet('date', set)
  for (const { line, known } of head.headers.fields) {
    if (known.isHop || known.role === 'content-length' || isSet(known.key, set)) continue
    if (facts.connectionNames.length > 0 && facts.connectionNames.includes(known.key)) continue
    text += line
    dated ||= known.role === 'date'
  }
  return { text, dated }
}

export function statusLine(status: number): string {
  return status === 200 ? 'HTTP/1.1 200 OK\r\n' : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
}
