import { SluiceError } from '../../foundation/errors.ts'
import { longestTokenCharacters, tooLong } from '../requests/prompt-tokens.ts'

/** Deeper than any request: a schema of 32 levels has some 100. */
const deepestNesting = 128
/** Ten times what the largest request has that is taken. Parsing that many takes about 100 ms. */
const mostMembers = 100_000
const mostItems = 500_000

/** Names, schemas and whatever else is no part of a prompt. */
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
 * Looks at JSON as it arrives, byte by byte, before it is parsed: the parser has to take a text whole, and takes
 * seconds and gigabytes for one that is nested a million times or has a million names. Whether it is JSON is for the
 * parser to say.
 */
export class JsonShape {
  readonly #room: number
  #depth = 0
  #members = 0
  #items = 0
  #characters = 0
  #inString = false
  #escaped = false

  /** `room` is how many tokens all of its texts together may have. */
  constructor(room = Infinity) {
    this.#room = room
  }

  /** What is wrong with what has arrived so far, if something is. */
  take(bytes: Uint8Array): SluiceError | undefined {
    let [inString, escaped, depth] = [this.#inString, this.#escaped, this.#depth]
    let [members, items, characters, deepest] = [0, 0, 0, 0]
    for (const byte of bytes) {
      if (inString) {
        if (escaped) {
          escaped = false
          // The four digits that follow are counted as they come, but stand for nothing more than the escape does.
          if (byte === letterU) characters -= escapeDigits
        } else {
          // The second and later bytes of a character are no characters of their own.
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
