import { SluiceError } from '../../foundation/errors.ts'
import { CapturedText } from './captured-text.ts'
import { firstPart, nextPart, type NumberPart } from './json-number.ts'

/** No real request is nested deeper; parsers pay for every level. */
export const deepestNesting = 1_000

/** This much of a string is read byte by byte; the end of a longer one is searched for, which is faster. */
const shortTextBytes = 64
const longestNameBytes = 48
const longestModelBytes = 1_024
const wantedNames = ['model', 'stream'] as const

/**
 * What is expected next or, from `text` on, what the next byte is part of. Numbers, because it is compared for every
 * byte.
 */
const place = {
  object: 0,
  value: 1,
  firstItem: 2,
  firstMember: 3,
  member: 4,
  colon: 5,
  next: 6,
  end: 7,
  text: 8,
  escape: 9,
  hex: 10,
  number: 11,
  literal: 12,
} as const
type Place = (typeof place)[keyof typeof place]

const list = 1
const object = 2

const quote = 34
const backslash = 92

/** Bytes of a body, the last one excluded. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Reads a JSON object as it arrives, in pieces of any size, and keeps only its own `model` and `stream`, the last of
 * each, as `JSON.parse` would. Work is linear in the bytes and memory is constant. Throws at the first byte that cannot
 * be JSON; inside strings only if `checksTexts` is set, because skipping long strings unchecked is much faster.
 */
export class JsonScanner {
  readonly #checksTexts: boolean
  readonly #nesting = new Uint8Array(deepestNesting)
  #depth = 0
  #place: Place = place.object
  #passedBytes = 0
  #number: NumberPart = 'digits'
  #literal = ''
  #literalAt = 0
  #hexLeft = 0
  /** Whether the current string is a member's name. */
  #isName = false
  /** Which wanted member the next value belongs to. */
  #member: string | undefined
  readonly #name = new CapturedText(longestNameBytes)
  readonly #modelText = new CapturedText(longestModelBytes)
  #captured: CapturedText | undefined
  #model: string | undefined
  #streamed = false
  #modelAt = 0
  #modelRange: ByteRange | undefined

  constructor(options: { readonly checksTexts: boolean }) {
    this.#checksTexts = options.checksTexts
  }

  /** `undefined` if there was none so far, or it is no string. */
  get model(): string | undefined {
    return this.#model
  }

  /** Where the model's name is in the body, with its quotes. */
  get modelRange(): ByteRange | undefined {
    return this.#model === undefined ? undefined : this.#modelRange
  }

  get streamed(): boolean {
    return this.#streamed
  }

  push(piece: Buffer): void {
    let at = 0
    while (at < piece.length) {
      switch (this.#place) {
        case place.text:
          at = this.#readText(piece, at)
          break
        case place.number:
          at = this.#readNumber(piece, at)
          break
        case place.escape:
        case place.hex:
        case place.literal:
          at = this.#readInside(piece, at)
          break
        default:
          at = this.#readMarks(piece, at)
      }
    }
    this.#passedBytes += piece.length
  }

  /** The body is over. */
  finish(): void {
    if (this.#place === place.end) return
    throw invalidJson(this.#passedBytes === 0 ? 'it is empty' : 'it ends too early')
  }

  #readInside(piece: Buffer, at: number): number {
    const byte = piece[at] ?? 0
    if (this.#place === place.escape) return this.#readEscape(byte, at)
    return this.#place === place.hex ? this.#readHex(byte, at) : this.#readLiteral(byte, at)
  }

  /** Handles structure between values, and their first bytes. */
  #readMarks(piece: Buffer, start: number): number {
    let at = start
    for (; at < piece.length && this.#place < place.text; at++) {
      const byte = piece[at] ?? 0
      if (byte > 32 || !isBlank(byte)) this.#readMark(byte, at)
    }
    return at
  }

  #readMark(byte: number, at: number): void {
    switch (this.#place) {
      case place.object:
        if (byte === 123) return this.#open(object)
        if (isValueStart(byte)) throw invalidJson('it is not an object')
        throw this.#unexpected(at)
      case place.firstItem:
        if (byte === 93) return this.#close()
        return this.#beginValue(byte, at)
      case place.value:
        return this.#beginValue(byte, at)
      case place.firstMember:
        if (byte === 125) return this.#close()
        return this.#beginName(byte, at)
      case place.member:
        return this.#beginName(byte, at)
      case place.colon:
        if (byte !== 58) throw this.#unexpected(at)
        this.#place = place.value
        return
      case place.next:
        return this.#readNext(byte, at)
      default:
        throw this.#unexpected(at)
    }
  }

  #readNext(byte: number, at: number): void {
    const within = this.#nesting[this.#depth - 1]
    if (byte === 44) this.#place = within === object ? place.member : place.value
    else if (byte === (within === object ? 125 : 93)) this.#close()
    else throw this.#unexpected(at)
  }

  #open(kind: typeof list | typeof object): void {
    if (this.#depth === deepestNesting) throw invalidJson(`it is nested deeper than ${deepestNesting} levels`)
    this.#nesting[this.#depth++] = kind
    this.#place = kind === object ? place.firstMember : place.firstItem
  }

  #close(): void {
    this.#depth--
    this.#place = this.#depth === 0 ? place.end : place.next
  }

  #beginName(byte: number, at: number): void {
    if (byte !== quote) throw this.#unexpected(at)
    this.#isName = true
    this.#place = place.text
    if (this.#depth === 1) this.#capture(this.#name)
  }

  #beginValue(byte: number, at: number): void {
    const member = this.#depth === 1 ? this.#member : undefined
    if (member === 'model') this.#model = undefined
    else if (member === 'stream') this.#streamed = false
    switch (byte) {
      case quote:
        this.#isName = false
        this.#place = place.text
        if (member === 'model') {
          this.#capture(this.#modelText)
          this.#modelAt = this.#passedBytes + at
        }
        return
      case 123:
        return this.#open(object)
      case 91:
        return this.#open(list)
      case 116:
        return this.#beginLiteral('true')
      case 102:
        return this.#beginLiteral('false')
      case 110:
        return this.#beginLiteral('null')
      default:
        if (byte !== 45 && !isDigit(byte)) throw this.#unexpected(at)
        this.#number = firstPart(byte)
        this.#place = place.number
    }
  }

  #beginLiteral(literal: string): void {
    this.#literal = literal
    this.#literalAt = 1
    this.#place = place.literal
  }

  #readLiteral(byte: number, at: number): number {
    if (byte !== this.#literal.charCodeAt(this.#literalAt)) throw this.#unexpected(at)
    this.#literalAt++
    if (this.#literalAt < this.#literal.length) return at + 1
    if (this.#depth === 1 && this.#member === 'stream') this.#streamed = this.#literal === 'true'
    this.#place = place.next
    return at + 1
  }

  #readNumber(piece: Buffer, start: number): number {
    let part = this.#number
    for (let at = start; at < piece.length; at++) {
      const following = nextPart(part, piece[at] ?? 0)
      if (following === 'wrong') throw this.#unexpected(at)
      if (following === 'over') {
        this.#place = place.next
        return at
      }
      part = following
    }
    this.#number = part
    return piece.length
  }

  #capture(into: CapturedText): void {
    into.begin()
    this.#captured = into
  }

  #readText(piece: Buffer, start: number): number {
    const at = this.#plainEnd(piece, start)
    this.#captured?.add(piece, start, at)
    if (at === piece.length) return at
    const byte = piece[at] ?? 0
    if (byte === quote) this.#endText(this.#passedBytes + at + 1)
    else if (byte === backslash) this.#beginEscape()
    else throw this.#unexpected(at)
    return at + 1
  }

  /** Finds the next quote, backslash, or byte that must not be in a string. */
  #plainEnd(piece: Buffer, start: number): number {
    const watched = this.#checksTexts ? piece.length : Math.min(piece.length, start + shortTextBytes)
    let at = start
    for (; at < watched; at++) {
      const byte = piece[at] ?? 0
      if (byte === quote || byte === backslash || byte < 32) return at
    }
    if (at === piece.length) return at
    const nextQuote = piece.indexOf(quote, at)
    const before = nextQuote < 0 ? piece.length : nextQuote
    // Searched only up to there, so that no byte is searched twice.
    const nextBackslash = piece.subarray(at, before).indexOf(backslash)
    return nextBackslash < 0 ? before : at + nextBackslash
  }

  #endText(end: number): void {
    const captured = this.#captured
    this.#captured = undefined
    if (this.#isName) {
      if (captured) this.#member = captured.oneOf(wantedNames)
      this.#place = place.colon
    } else {
      if (captured) {
        this.#model = captured.decoded()
        this.#modelRange = { start: this.#modelAt, end }
      }
      this.#place = place.next
    }
  }

  #beginEscape(): void {
    this.#captured?.addByte(backslash)
    this.#place = place.escape
  }

  #readEscape(byte: number, at: number): number {
    if (!isEscape(byte)) throw this.#unexpected(at)
    this.#captured?.addByte(byte)
    this.#hexLeft = 4
    this.#place = byte === 117 ? place.hex : place.text
    return at + 1
  }

  #readHex(byte: number, at: number): number {
    const letter = byte | 32
    if (!isDigit(byte) && (letter < 97 || letter > 102)) throw this.#unexpected(at)
    this.#captured?.addByte(byte)
    if (--this.#hexLeft === 0) this.#place = place.text
    return at + 1
  }

  #unexpected(at: number): SluiceError {
    return invalidJson(`it has an unexpected character at position ${this.#passedBytes + at}`)
  }
}

function invalidJson(reason: string): SluiceError {
  return new SluiceError('invalid_json', { reason })
}

function isBlank(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57
}

/** `"`, `[`, `-`, a digit, `t`, `f` or `n`. */
function isValueStart(byte: number): boolean {
  return byte === quote || byte === 91 || byte === 45 || isDigit(byte) || byte === 116 || byte === 102 || byte === 110
}

/** `"\/bfnrtu` */
function isEscape(byte: number): boolean {
  switch (byte) {
    case quote:
    case backslash:
    case 47:
    case 98:
    case 102:
    case 110:
    case 114:
    case 116:
    case 117:
      return true
    default:
      return false
  }
}
