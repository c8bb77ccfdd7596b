import { SluiceError } from '../../foundation/errors.ts'

const longestPartHeadBytes = 16_384
const longestValueBytes = 1_024
const mostParts = 256
/**
 * Once the model is known, this much of other text fields is searched for `stream`; after that the form is streamed.
 */
const furtherBytes = 65_536
const boundaryForm = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/

/** The boundary of a `multipart/form-data` content type; `undefined` for other types. */
export function formBoundary(contentType: string): string | undefined {
  // Most requests are JSON.
  if (contentType === 'application/json') return undefined
  const parameters = /^multipart\/form-data\s*;(.*)$/is.exec(contentType)?.[1]
  if (parameters === undefined) return undefined
  const match = /(?:^|;)\s*boundary=(?:"([^"]*)"|([^\s;"]+))\s*(?:;|$)/i.exec(parameters)
  const boundary = match?.[1] ?? match?.[2]
  return boundary !== undefined && boundaryForm.test(boundary) ? boundary : undefined
}

/**
 * The place in the form. opening: before the first boundary. mark: after a boundary. text: in a wanted field. rest: in
 * any other part.
 */
type Place = 'opening' | 'mark' | 'head' | 'text' | 'file' | 'rest' | 'end'

/**
 * Reads `model` and `stream` from a form as it arrives, without keeping what it has passed. It is done when both are
 * known, when a file follows the model, or at the end. Until then it refuses whatever readers could understand
 * differently: a field that occurs twice, broken framing, a missing end. What follows goes to the model that was named
 * and cannot change that.
 */
export class FormScanner {
  readonly #delimiter: Buffer
  readonly #values = new Map<string, string>()
  #held: Buffer = Buffer.alloc(0)
  #place: Place = 'opening'
  #field = ''
  #parts = 0
  #bytesSinceModel = 0

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  get model(): string | undefined {
    return this.#values.get('model')
  }

  get streamed(): boolean {
    return this.#values.get('stream')?.toLowerCase() === 'true'
  }

  /** Bytes that cannot be understood without more. */
  get heldBytes(): number {
    return this.#held.length
  }

  get enough(): boolean {
    if (this.#place === 'end') return true
    if (this.model === undefined) return false
    return this.#place === 'file' || this.#values.has('stream') || this.#bytesSinceModel > furtherBytes
  }

  /** Takes the next piece; returns true once enough was seen. */
  push(piece: Buffer): boolean {
    if (this.model !== undefined) this.#bytesSinceModel += piece.length
    this.#held = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece])
    while (!this.enough && this.#advance());
    return this.enough
  }

  /** The body is over. */
  finish(): void {
    if (!this.enough) throw malformed('its last boundary is missing')
  }

  /** Moves on to the next place; returns false if it needs more bytes. */
  #advance(): boolean {
    switch (this.#place) {
      case 'opening':
        return this.#readOpening()
      case 'mark':
        return this.#readMark()
      case 'head':
        return this.#readHead()
      case 'text':
        return this.#readText()
      case 'file':
      case 'rest':
        return this.#skip()
      case 'end':
        return false
      default:
        return this.#place satisfies never
    }
  }

  #readOpening(): boolean {
    // The first boundary has no line end before it.
    const opening = this.#delimiter.subarray(2)
    const begun = this.#held.subarray(0, opening.length)
    if (!begun.equals(opening.subarray(0, begun.length))) throw malformed('it does not begin with its boundary')
    return begun.length === opening.length && this.#moveTo('mark', opening.length)
  }

  #readMark(): boolean {
    if (this.#held.length < 2) return false
    const mark = this.#held.toString('latin1', 0, 2)
    if (mark === '--') return this.#moveTo('end', 2)
    if (mark !== '\r\n') throw malformed('a boundary is followed by something else than a line end')
    if (++this.#parts > mostParts) throw malformed(`it has more than ${mostParts} parts`)
    return this.#moveTo('head', 2)
  }

  #readHead(): boolean {
    const end = this.#held.subarray(0, longestPartHeadBytes).indexOf('\r\n\r\n')
    if (end < 0) {
      if (this.#held.length >= longestPartHeadBytes) throw malformed("a part's head does not end")
      return false
    }
    const { name, isFile } = readPartHead(this.#held.toString('utf8', 0, end))
    const wanted = !isFile && (name === 'model' || name === 'stream')
    if (wanted && this.#values.has(name)) throw malformed(`the field ${name} is there twice`)
    this.#field = name
    return this.#moveTo(wanted ? 'text' : isFile ? 'file' : 'rest', end + 4)
  }

  #readText(): boolean {
    const end = this.#held.indexOf(this.#delimiter)
    const length = end < 0 ? this.#held.length - this.#delimiter.length : end
    if (length > longestValueBytes) throw malformed(`the field ${this.#field} is too long`)
    if (end < 0) return false
    this.#values.set(this.#field, this.#held.toString('utf8', 0, end))
    return this.#moveTo('mark', end + this.#delimiter.length)
  }

  #skip(): boolean {
    const end = this.#held.indexOf(this.#delimiter)
    if (end >= 0) return this.#moveTo('mark', end + this.#delimiter.length)
    // Keep only what may be the beginning of a boundary.
    const kept = Math.min(this.#held.length, this.#delimiter.length - 1)
    this.#held = this.#held.subarray(this.#held.length - kept)
    return false
  }

  #moveTo(place: Place, passedBytes: number): true {
    this.#place = place
    this.#held = this.#held.subarray(passedBytes)
    return true
  }
}

function readPartHead(head: string): { readonly name: string; readonly isFile: boolean } {
  const dispositions = head.split('\r\n').filter((line) => /^content-disposition:/i.test(line))
  const [disposition] = dispositions
  if (disposition === undefined || dispositions.length > 1) throw malformed('a part does not say its field once')
  const isField = /^content-disposition:\s*form-data\s*;/i.test(disposition)
  const match = /;\s*name=(?:"([^"]*)"|([^\s;"]+))/i.exec(disposition)
  return { name: match?.[1] ?? match?.[2] ?? '', isFile: !isField || /;\s*filename\*?=/i.test(disposition) }
}

function malformed(reason: string): SluiceError {
  return new SluiceError('invalid_request', { reason: `The form in the request body is malformed: ${reason}.` })
}
