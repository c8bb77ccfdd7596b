import { SluiceError } from '../../foundation/errors.ts'
import type { RelayLimits } from '../limits.ts'
import { fieldName, type HeaderField, isFieldValue, isToken } from './header-field.ts'
import { LastHead, type WithLength } from './last-head.ts'
import { ownText, Remembered } from './remembered.ts'

/** The first line and the fields of a message as received, checked for form but not for meaning. */
export interface RawHead {
  readonly startLine: string
  readonly fields: readonly HeaderField[]
}

/** Describes a kind of head and how it is parsed. */
export interface HeadKind<T> {
  /**
   * `fields`: there is no first line, as in trailers. Otherwise checks a first line while the rest of the head is on
   * its way.
   */
  readonly begins: 'fields' | ((startLine: string) => void)
  parse(raw: RawHead): T
  /** Set if senders repeat such heads: then the last one is remembered. */
  readonly withLength?: WithLength<T>
}

export type HeadLimits = Pick<RelayLimits, 'maxLineBytes' | 'maxHeadBytes' | 'maxHeaderFields'>

export function invalidHttp(reason: string): SluiceError {
  return new SluiceError('invalid_http', { reason })
}

/**
 * Collects one head from any number of pieces. Work is linear in the bytes received: a line is read once it is
 * complete. Latin-1 has one character per byte, so offsets in text are offsets in bytes.
 */
export class HeadReader<T> {
  readonly #limits: HeadLimits
  readonly #kind: HeadKind<T>
  readonly #last: LastHead<T> | undefined
  /** The result for a head that repeats the last one. */
  #recognised: T | undefined
  /** The text of a head that came in one piece. */
  #text = ''
  #fields: HeaderField[] = []
  #startLine = ''
  #pending = ''
  #bytes = 0
  #skippedEmptyLine = false
  #startLineChecked = false

  constructor(limits: HeadLimits, kind: HeadKind<T>) {
    this.#limits = limits
    this.#kind = kind
    this.#last = kind.withLength && new LastHead(kind.withLength)
  }

  /** Whether a head has begun and not ended. */
  get begun(): boolean {
    return this.#bytes > 0
  }

  /** Takes bytes from `start` on. Returns where the head ends, or -1 if its end is not here yet. */
  push(chunk: Buffer, start: number): number {
    if (this.#bytes === 0) {
      const end = this.#repeatedUntil(chunk, start)
      if (end > 0) return end
    }
    const room = this.#limits.maxHeadBytes - this.#bytes + 1
    const headEnd = chunk.indexOf('\r\n\r\n', start, 'latin1')
    const stop = Math.min(headEnd < 0 ? chunk.length : headEnd + 4, start + room)
    const arrived = chunk.toString('latin1', start, stop)
    if (headEnd >= 0 && this.#bytes === 0) {
      this.#recognised = this.#last?.like(arrived)
      if (this.#recognised !== undefined) return stop
      this.#text = arrived
    }
    const pendingBytes = this.#pending.length
    this.#bytes += arrived.length
    const text = arrived.includes('\n') ? this.#pending + arrived : ''
    let from = 0
    if (text === '') {
      this.#pending += arrived
    } else {
      for (let lineFeed = text.indexOf('\n'); lineFeed >= 0; lineFeed = text.indexOf('\n', from)) {
        const line = this.#lineOf(text, from, lineFeed)
        from = lineFeed + 1
        if (this.#takeLine(line)) {
          this.#pending = ''
          // The rest of what was decoded belongs to the body.
          this.#bytes -= text.length - from
          this.#refuseTooLarge()
          return start + from - pendingBytes
        }
      }
      this.#pending = text.slice(from)
    }
    this.#refuseHopeless()
    return -1
  }

  /** Returns the finished head and gets ready for the next one. */
  take(): T {
    const recognised = this.#recognised
    if (recognised !== undefined) {
      this.#recognised = undefined
      return recognised
    }
    const raw = { startLine: this.#startLine, fields: this.#fields }
    const text = this.#text
    this.#text = ''
    this.#fields = []
    this.#startLine = ''
    this.#bytes = 0
    this.#skippedEmptyLine = false
    this.#startLineChecked = false
    const head = this.#kind.parse(raw)
    if (text !== '') this.#last?.remember(text, head)
    return head
  }

  /**
   * Where a complete head that repeats the last one ends; 0 if there is none. Comparing is faster than searching for
   * the end.
   */
  #repeatedUntil(chunk: Buffer, start: number): number {
    const last = this.#last
    const end = last ? last.endAt(start) : start
    if (!last || end === start || end > chunk.length) return 0
    this.#recognised = last.like(chunk.toString('latin1', start, end))
    return this.#recognised === undefined ? 0 : end
  }

  #lineOf(text: string, from: number, lineFeed: number): string {
    if (lineFeed === from || text.charCodeAt(lineFeed - 1) !== 13) throw invalidHttp('a line ends without CR')
    return text.slice(from, lineFeed - 1)
  }

  /** Returns true at the empty line that ends the head. */
  #takeLine(line: string): boolean {
    if (this.#startLine === '' && this.#kind.begins !== 'fields') {
      if (line === '') {
        // RFC 9112 2.2: one empty line before a request is forgiven.
        if (this.#skippedEmptyLine) throw invalidHttp('empty lines before the request line')
        this.#skippedEmptyLine = true
        return false
      }
      if (line.length > this.#limits.maxLineBytes) throw this.#lineTooLong()
      this.#startLine = line
      return false
    }
    if (line === '') return true
    if (this.#fields.length >= this.#limits.maxHeaderFields) {
      throw new SluiceError('head_too_large', { reason: `more than ${this.#limits.maxHeaderFields} fields` })
    }
    this.#fields.push(parseFieldLine(line))
    return false
  }

  /** Refuses an incomplete head at once if it cannot become valid, instead of at the deadline. */
  #refuseHopeless(): void {
    const { begins } = this.#kind
    if (begins === 'fields') return this.#refuseTooLarge()
    if (this.#startLine !== '' && !this.#startLineChecked) {
      begins(this.#startLine)
      this.#startLineChecked = true
    } else if (this.#startLine === '' && this.#pending !== '') {
      if (this.#pending.length > this.#limits.maxLineBytes) throw this.#lineTooLong()
      const first = this.#pending.charAt(0)
      // For instance a TLS hello on a plain port.
      if (first !== '\r' && !isToken(first)) throw invalidHttp('the first line does not begin with a name')
    }
    this.#refuseTooLarge()
  }

  #refuseTooLarge(): void {
    if (this.#bytes > this.#limits.maxHeadBytes) {
      throw new SluiceError('head_too_large', { reason: `more than ${this.#limits.maxHeadBytes} bytes` })
    }
  }

  #lineTooLong(): SluiceError {
    return new SluiceError('target_too_long', { limitBytes: this.#limits.maxLineBytes })
  }
}

const fieldLines = new Remembered(readFieldLine, ({ known }) => known.isSteady)

/** One field line without its line ending; the same rules hold for trailers. */
export function parseFieldLine(line: string): HeaderField {
  return fieldLines.of(line)
}

function readFieldLine(line: string): HeaderField {
  const colon = line.indexOf(':')
  const first = line.charCodeAt(0)
  if (first === 32 || first === 9) throw invalidHttp('a header field is folded over two lines')
  if (colon < 0) throw invalidHttp('a header field has no colon')
  const name = line.slice(0, colon)
  const known = fieldName(name)
  if (!known) throw invalidHttp('a header field name has a forbidden character')
  // RFC 9110 allows the tab, llhttp does not; where two parsers may disagree on a length, neither reading is safe.
  if ((known.role === 'content-length' || known.role === 'transfer-encoding') && line.endsWith('\t')) {
    throw invalidHttp(`${name} ends in a tab`)
  }
  const trimmed = trimBlanks(line, colon + 1)
  if (!isFieldValue(trimmed)) throw invalidHttp('a header field value has a forbidden character')
  // A value that is used often is copied, so that it does not keep the whole head alive.
  const value = known.isSteady ? ownText(trimmed) : trimmed
  return { name, value, line: `${name}: ${value}\r\n`, known }
}

/** Trims only space and tab: String.trim would also remove bytes such as 0xA0, which belong to the value. */
function trimBlanks(line: string, from: number): string {
  let start = from
  let end = line.length
  while (start < end && isBlank(line.charCodeAt(start))) start++
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--
  return line.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}
