/**
 * A field that an object in a JSON text has more than once. Only the last one counts, which is seldom what was meant.
 */
export interface DuplicateField {
  /** `metadata.labels.a`, `items[0].name` */
  readonly path: string
  readonly name: string
  /** Counted from 1. */
  readonly line: number
}

/** At most this many are reported. */
const mostTold = 32

interface Frame {
  /** The fields seen so far; a list has none. */
  readonly fields: Set<string> | undefined
  /** The field or index we are at. */
  at: string
  index: number
}

/** Finds duplicate fields in a text that is known to be JSON, without building any values. */
export function duplicateFields(text: string): DuplicateField[] {
  const found: DuplicateField[] = []
  const frames: Frame[] = []
  const lines = new Lines(text)
  let expectsName = false
  for (let position = 0; position < text.length && found.length < mostTold; position += 1) {
    const frame = frames.at(-1)
    switch (text.charCodeAt(position)) {
      case openBrace:
        frames.push({ fields: new Set(), at: '', index: 0 })
        expectsName = true
        break
      case openBracket:
        frames.push({ fields: undefined, at: '[0]', index: 0 })
        expectsName = false
        break
      case closeBrace:
      case closeBracket:
        frames.pop()
        expectsName = false
        break
      case comma:
        expectsName = frame?.fields !== undefined
        if (frame && !frame.fields) frame.at = `[${(frame.index += 1)}]`
        break
      case quote: {
        const end = endOfString(text, position)
        if (expectsName && frame?.fields) {
          const name = nameIn(text, position, end)
          frame.at = name
          if (frame.fields.has(name)) found.push({ path: pathOf(frames), name, line: lines.at(position) })
          frame.fields.add(name)
          expectsName = false
        }
        position = end
        break
      }
    }
  }
  return found
}

const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const comma = 0x2c
const quote = 0x22
const backslash = 0x5c

/** The position of the closing quote. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end < 0 ? text.length : end
}

function isEscaped(text: string, position: number): boolean {
  let before = position - 1
  while (text.charCodeAt(before) === backslash) before -= 1
  return (position - before) % 2 === 0
}

function nameIn(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end)
  return raw.includes('\\') ? String(JSON.parse(`"${raw}"`)) : raw
}

function pathOf(frames: readonly Frame[]): string {
  return frames.map(({ fields, at }, index) => (fields && index > 0 ? `.${at}` : at)).join('')
}

/** Finds the line of a position. Positions must be asked in ascending order, so that every line is counted once. */
class Lines {
  readonly #text: string
  #line = 1
  #next: number

  constructor(text: string) {
    this.#text = text
    this.#next = text.indexOf('\n')
  }

  at(position: number): number {
    while (this.#next !== -1 && this.#next < position) {
      this.#line += 1
      this.#next = this.#text.indexOf('\n', this.#next + 1)
    }
    return this.#line
  }
}
