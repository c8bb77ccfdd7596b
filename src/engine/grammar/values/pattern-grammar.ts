import { classCharacter, type GrammarRule, NoGrammar, oneOf } from './grammar-rule.ts'

/** Longer patterns, and such with more parts, are not read. */
const longestPattern = 2_000
const mostParts = 1_000
const mostRepetitions = 1_000
const deepestGroups = 32

/** Code points from the first to the last. */
type Range = readonly [first: number, last: number]

interface Part extends GrammarRule {
  readonly fewest: number
  readonly most: number
}

const digit: readonly Range[] = [[0x30, 0x39]]
const word: readonly Range[] = [...digit, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]
const space: readonly Range[] = [
  [0x09, 0x0a],
  [0x0d, 0x0d],
  [0x20, 0x20],
]
const classes: Readonly<Record<string, readonly Range[]>> = { d: digit, w: word, s: space }
const controls: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09 }
/** What a JSON text can say of a character that it cannot contain as it is, in the notation of grammars. */
const escaped: ReadonlyArray<readonly [codePoint: number, literal: string]> = [
  [0x22, String.raw`"\\\""`],
  [0x5c, String.raw`"\\\\"`],
  [0x0a, String.raw`"\\n"`],
  [0x0d, String.raw`"\\r"`],
  [0x09, String.raw`"\\t"`],
]
/** The characters that a JSON text may contain as they are. */
const plain: readonly Range[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x7e],
  [0xa0, 0xd7ff],
  [0xe000, 0xfffd],
  [0x1_0000, 0x10_fffd],
]
const anyCharacter = characters([[0, 0x10_ffff]])

/**
 * A JSON text, with its quotes, that matches a regular expression. Only what a grammar can tell is read: no looking
 * ahead or back, no references to groups, and anchors only at the ends.
 */
export function patternRule(pattern: string): GrammarRule {
  if (pattern.length > longestPattern) throw new NoGrammar(`the pattern is longer than ${longestPattern} characters`)
  const reader = new PatternReader(pattern)
  const { expression, fewest, most } = reader.read()
  return { expression: `"\\"" ${expression} "\\""`, fewest, most, repetitions: reader.repetitions }
}

class PatternReader {
  readonly #characters: readonly string[]
  #at = 0
  #parts = 0
  repetitions = 0

  constructor(pattern: string) {
    this.#characters = Array.from(pattern)
  }

  read(): Part {
    const whole = this.#alternatives(0)
    if (this.#at < this.#characters.length) throw new NoGrammar('the pattern has a ) too many')
    return whole
  }

  #alternatives(depth: number): Part {
    if (depth > deepestGroups) throw new NoGrammar('the pattern is nested too deep')
    const parts = [this.#sequence(depth)]
    while (this.#take('|')) parts.push(this.#sequence(depth))
    return {
      expression: oneOf(parts.map(({ expression }) => expression)),
      fewest: Math.min(...parts.map(({ fewest }) => fewest)),
      most: Math.max(...parts.map(({ most }) => most)),
    }
  }

  #sequence(depth: number): Part {
    const parts: Part[] = []
    // A pattern is searched for anywhere in the text, unless it is anchored.
    if (depth === 0 && !this.#take('^')) parts.push(anything)
    while (this.#at < this.#characters.length && this.#next !== '|' && this.#next !== ')') {
      if (depth === 0 && this.#next === '$' && this.#isEnd(this.#at + 1)) {
        this.#at++
        return joined(parts)
      }
      parts.push(this.#repeated(this.#one(depth)))
    }
    if (depth === 0) parts.push(anything)
    return joined(parts)
  }

  #one(depth: number): Part {
    if (++this.#parts > mostParts) throw new NoGrammar(`the pattern has more than ${mostParts} parts`)
    const character = this.#shift()
    switch (character) {
      case '(':
        return this.#group(depth)
      case '[':
        return single(this.#class())
      case '.':
        return single(without([[0, 0x10_ffff]], space.slice(0, 2)))
      case '\\':
        return single(this.#escape())
      case '^':
      case '$':
        throw new NoGrammar(`${character} is supported only at the ends of the pattern`)
      case '*':
      case '+':
      case '?':
        throw new NoGrammar(`${character} has nothing to repeat`)
      default:
        return single([pointOf(character)])
    }
  }

  #group(depth: number): Part {
    if (this.#take('?')) {
      if (this.#take('<') && this.#next !== '=' && this.#next !== '!') while (this.#shift() !== '>');
      else if (!this.#take(':')) throw new NoGrammar('looking ahead or back is not supported')
    }
    const inner = this.#alternatives(depth + 1)
    if (!this.#take(')')) throw new NoGrammar('the pattern has a ( without its )')
    return { ...inner, expression: `(${inner.expression})` }
  }

  #class(): readonly Range[] {
    const isNegated = this.#take('^')
    const ranges: Range[] = []
    while (!this.#take(']')) {
      const first = this.#classPart()
      const [from, ...others] = first
      const isRange = this.#next === '-' && this.#characters[this.#at + 1] !== ']' && others.length === 0 && from
      if (!isRange) {
        ranges.push(...first)
        continue
      }
      this.#at++
      const [to] = this.#classPart()
      if (to === undefined || to[0] < from[0]) throw new NoGrammar('a range of the pattern is out of order')
      ranges.push([from[0], to[1]])
    }
    return isNegated ? without([[0, 0x10_ffff]], ranges) : ranges
  }

  #classPart(): readonly Range[] {
    const character = this.#shift()
    return character === '\\' ? this.#escape() : [pointOf(character)]
  }

  #escape(): readonly Range[] {
    const character = this.#shift()
    const known = classes[character.toLowerCase()]
    if (known) return character === character.toLowerCase() ? known : without([[0, 0x10_ffff]], known)
    const control = controls[character]
    if (control !== undefined) return [[control, control]]
    if (character === 'x') return [this.#hex(2)]
    if (character === 'u') return [this.#take('{') ? this.#hexTo('}') : this.#hex(4)]
    if (/[A-Za-z0-9]/.test(character)) throw new NoGrammar(`\\${character} is not supported in a pattern`)
    return [pointOf(character)]
  }

  #hex(digits: number): Range {
    let text = ''
    for (let index = 0; index < digits; index++) text += this.#shift()
    return hexPoint(text)
  }

  #hexTo(end: string): Range {
    let text = ''
    for (let next = this.#shift(); next !== end; next = this.#shift()) text += next
    return hexPoint(text)
  }

  #repeated(part: Part): Part {
    const counts = this.#counts()
    if (!counts) return part
    // Whether it takes as much or as little as possible makes no difference to what is allowed.
    this.#take('?')
    const [least, largest] = counts
    this.repetitions += Math.max(least, largest ?? 0)
    if (Math.max(least, largest ?? 0) > mostRepetitions) {
      throw new NoGrammar(`a part of the pattern is repeated more than ${mostRepetitions} times`)
    }
    const marks: Readonly<Record<string, string>> = { '0,': '*', '1,': '+', '0,1': '?' }
    const written = `${least},${largest ?? ''}`
    return {
      expression: `${part.expression}${marks[written] ?? `{${written}}`}`,
      fewest: part.fewest * least,
      most: largest === undefined ? Infinity : largest === 0 ? 0 : part.most * largest,
    }
  }

  #counts(): readonly [number, number | undefined] | undefined {
    if (this.#take('*')) return [0, undefined]
    if (this.#take('+')) return [1, undefined]
    if (this.#take('?')) return [0, 1]
    if (this.#next !== '{') return undefined
    const rest = this.#characters.slice(this.#at, this.#at + 12).join('')
    const [all, least = '', comma, largest = ''] = /^\{(\d{1,4})(,?)(\d{0,4})\}/.exec(rest) ?? []
    if (all === undefined) throw new NoGrammar('a { of the pattern is not a count; write \\{')
    this.#at += all.length
    if (comma === '') return [Number(least), Number(least)]
    return [Number(least), largest === '' ? undefined : Number(largest)]
  }

  get #next(): string | undefined {
    return this.#characters[this.#at]
  }

  #isEnd(at: number): boolean {
    return at >= this.#characters.length || this.#characters[at] === '|'
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false
    this.#at++
    return true
  }

  #shift(): string {
    const character = this.#characters[this.#at++]
    if (character === undefined) throw new NoGrammar('the pattern ends too early')
    return character
  }
}

const anything: Part = { expression: `${anyCharacter}*`, fewest: 0, most: Infinity }

function joined(parts: readonly Part[]): Part {
  return {
    expression: parts.length === 0 ? '""' : parts.map(({ expression }) => expression).join(' '),
    fewest: parts.reduce((sum, { fewest }) => sum + fewest, 0),
    most: parts.reduce((sum, { most }) => sum + most, 0),
  }
}

function single(ranges: readonly Range[]): Part {
  return { expression: characters(ranges), fewest: 1, most: 1 }
}

function pointOf(character: string): Range {
  const point = character.codePointAt(0) ?? 0
  return [point, point]
}

function hexPoint(text: string): Range {
  if (!/^[0-9a-fA-F]{1,6}$/.test(text)) throw new NoGrammar('a character of the pattern is written wrongly')
  const point = Number.parseInt(text, 16)
  if (point > 0x10_ffff) throw new NoGrammar('a character of the pattern is written wrongly')
  return [point, point]
}

/** One of these characters, as a JSON text writes it. */
function characters(ranges: readonly Range[]): string {
  const within = plain.flatMap(([first, last]) =>
    ranges.flatMap(([from, to]): Range[] => {
      const both: Range = [Math.max(first, from), Math.min(last, to)]
      return both[0] <= both[1] ? [both] : []
    }),
  )
  const parts = escaped
    .filter(([point]) => ranges.some(([from, to]) => point >= from && point <= to))
    .map(([, literal]) => literal)
  if (within.length > 0) {
    const written = within.map(([first, last]) =>
      first === last ? classCharacter(first) : `${classCharacter(first)}-${classCharacter(last)}`,
    )
    parts.unshift(`[${written.join('')}]`)
  }
  return oneOf(parts)
}

function without(ranges: readonly Range[], excluded: readonly Range[]): readonly Range[] {
  return excluded.reduce<readonly Range[]>(
    (left, [from, to]) =>
      left.flatMap(([first, last]): Range[] => {
        if (to < first || from > last) return [[first, last]]
        const before: Range[] = first < from ? [[first, from - 1]] : []
        return last > to ? [...before, [to + 1, last]] : before
      }),
    ranges,
  )
}
