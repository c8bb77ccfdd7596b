import { SluiceError } from '../../foundation/errors.ts'
import { longestTokenCharacters, tooLong } from '../requests/prompt-tokens.ts'

/** Deeper than any valid request: a schema of 32 levels has a nesting of about 100. */
const deepestNesting = 128
/** Ten times as many members as the largest request that is accepted. Parsing this many takes about 100 ms. */
const mostMembers = 100_000
const mostItems = 500_000

/** Allowed for names, schemas and everything else that is not part of a prompt. */
const otherCharacters = 2 * 1024 * 1024
const escapeDigits = 4

const quote = 0x22
const letterU = 0x75
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openList = 0x5b
const openObject = 0x7b
const closeList = 0x5d
const closeObject = 0x7d

/**
 * Checks JSON byte by byte as it arrives, before it is parsed. The parser takes a text as a whole, and needs seconds
 * and gigabytes for one with a million levels or a million names. Whether the text is valid JSON is left to the parser.
 */
export class JsonShape {
  readonly #room: number
  #depth = 0
  #members = 0
  #items = 0
  #characters = 0
  #inString = false
  #escaped = false

  /** `room` is how many tokens all texts in it may have together. */
  constructor(room = Infinity) {
    this.#room = room
  }

  /** What is wrong with the bytes so far, if anything. */
  take(bytes: Uint8Array): SluiceError | undefined {
    let [inString, escaped, depth] = [this.#inString, this.#escaped, this.#depth]
    let [members, items, characters, deepest] = [0, 0, 0, 0]
    for (const byte of bytes) {
      if (inString) {
        if (escaped) {
          escaped = false
          // The four digits that follow are counted when they come, but belong to the one character of the escape.
          if (byte === letterU) characters -= escapeDigits
        } else {
          // The second and later bytes of a character do not count as characters.
          if ((byte & 0xc0) !== 0x80) characters += 1
          if (byte === backslash) escaped = true
          else if (byte === quote) inString = false
        }
      } else if (byte === quote) inString = true
      else if (byte === comma) items += 1
      else if (byte === colon) members += 1
      else if (byte === openList || byte === openObject) {
        depth += 1
        if (depth > deepest) deepest = depth
      } else if (byte === closeList || byte === closeObject) depth -= 1
    }
    this.#inString = inString
    this.#escaped = escaped
    this.#depth = depth
    this.#members += members
    this.#items += items
    this.#characters += characters
    if (deepest > deepestNesting) return refuse(`is nested deeper than ${deepestNesting} levels`)
    if (this.#members > mostMembers) return refuse(`has more than ${mostMembers} members of objects`)
    if (this.#items > mostItems) return refuse(`has more than ${mostItems} values`)
    const mostCharacters = this.#room * longestTokenCharacters + otherCharacters
    return this.#characters > mostCharacters ? tooLong(this.#room) : undefined
  }
}

function refuse(problem: string): SluiceError {
  return new SluiceError('invalid_request', { reason: `The request body ${problem}; no request needs that.` })
}
