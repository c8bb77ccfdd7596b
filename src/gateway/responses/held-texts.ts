import { randomBytes } from 'node:crypto'
import { SluiceError } from '../../foundation/errors.ts'
import type { SlicedTask, TurnWork } from '../body/turn-work.ts'

/** Texts of at least this many bytes are held out of what is parsed; most of a large body is such texts. */
const longTextBytes = 1_024
/** How large the rest may be, which is parsed at once: thousands of turns of a conversation. */
const mostOutlineBytes = 1024 * 1024
/** Bytes looked at in one part of the work. */
const stepBytes = 65_536

const quote = 34
const backslash = 92

/**
 * A large JSON body with its long texts (pictures, documents) replaced by short marks, so that the rest of it is small
 * enough to be parsed at once. The texts themselves are neither decoded nor copied: they go on as the bytes that came.
 */
export interface OutlinedBody {
  /** The body with marks, as JSON. */
  readonly outline: string
  /** What `JSON.stringify` made of something that may have marks in it, with the texts in their places. */
  pieces(json: string): readonly Buffer[]
}

/** For a body that is small: nothing is held out. */
export function wholeOutline(body: Buffer): OutlinedBody {
  return { outline: body.toString('utf8'), pieces: (json) => [Buffer.from(json)] }
}

/** Reads a large body in slices, over several turns of the event loop. */
export function outlineBody(body: Buffer, work: TurnWork): Promise<OutlinedBody> {
  const { promise, resolve, reject } = Promise.withResolvers<OutlinedBody>()
  work.add(new Outlining(body, resolve, reject))
  return promise
}

class Outlining implements SlicedTask {
  readonly #body: Buffer
  readonly #resolve: (outlined: OutlinedBody) => void
  readonly #reject: (error: unknown) => void
  /** Unguessable, so that no text of the body can look like a mark. */
  readonly #mark = `<${randomBytes(12).toString('hex')}:`
  readonly #texts: Buffer[] = []
  readonly #kept: string[] = []
  #keptBytes = 0
  /** What lies before this was kept or held out. */
  #doneTo = 0
  #at = 0
  /** Where the current string's text begins; -1 outside of strings. */
  #textAt = -1

  constructor(body: Buffer, resolve: (outlined: OutlinedBody) => void, reject: (error: unknown) => void) {
    this.#body = body
    this.#resolve = resolve
    this.#reject = reject
  }

  step(): boolean {
    try {
      const end = Math.min(this.#body.length, this.#at + stepBytes)
      while (this.#at < end) this.#next(end)
      if (this.#at < this.#body.length) return true
      this.#keepTo(this.#body.length)
      this.#resolve({ outline: this.#kept.join(''), pieces: (json) => this.#pieces(json) })
    } catch (error) {
      this.#reject(error)
    }
    return false
  }

  /** Goes on to the next quote, or to the end of the slice. */
  #next(end: number): void {
    const body = this.#body
    if (this.#textAt < 0) {
      const found = body.subarray(this.#at, end).indexOf(quote)
      this.#at = found < 0 ? end : this.#at + found + 1
      if (found >= 0) this.#textAt = this.#at
      return
    }
    let at = this.#at
    while (at < end && body[at] !== quote && body[at] !== backslash) at++
    if (at >= end) {
      this.#at = at
    } else if (body[at] === backslash) {
      // The escaped character is passed over, whatever it is.
      this.#at = at + 2
    } else {
      this.#endText(at)
      this.#at = at + 1
    }
  }

  #endText(at: number): void {
    if (at - this.#textAt >= longTextBytes) {
      this.#keepTo(this.#textAt)
      this.#keep(`${this.#mark}${this.#texts.length}>`)
      this.#texts.push(this.#body.subarray(this.#textAt, at))
      this.#doneTo = at
    }
    this.#textAt = -1
  }

  #keepTo(end: number): void {
    this.#keep(this.#body.toString('utf8', this.#doneTo, end))
    this.#doneTo = end
  }

  #keep(text: string): void {
    this.#keptBytes += text.length
    if (this.#keptBytes > mostOutlineBytes) {
      const reason = `without its texts it is larger than ${mostOutlineBytes} bytes; send fewer items or tools`
      throw new SluiceError('invalid_request', { reason: `The body cannot be read: ${reason}.` })
    }
    this.#kept.push(text)
  }

  #pieces(json: string): readonly Buffer[] {
    const [first = '', ...marked] = json.split(this.#mark)
    const pieces: Buffer[] = [Buffer.from(first)]
    for (const part of marked) {
      const end = part.indexOf('>')
      const text = this.#texts[Number(part.slice(0, end))]
      if (text) pieces.push(text)
      pieces.push(Buffer.from(part.slice(end + 1)))
    }
    return pieces
  }
}
