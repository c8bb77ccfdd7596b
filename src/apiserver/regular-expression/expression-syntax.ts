import {
  type CharacterSet,
  type Range,
  anyOf,
  ignoringCase,
  inRanges,
  not,
  perlClasses,
  posixClasses,
  unicodeClass,
} from './character-set.ts'

export type Assertion = 'line-start' | 'line-end' | 'text-start' | 'text-end' | 'word-boundary' | 'no-word-boundary'

export type Expression =
  | { readonly type: 'empty' }
  | { readonly type: 'one'; readonly set: CharacterSet }
  | { readonly type: 'assert'; readonly assertion: Assertion }
  | { readonly type: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly type: 'choice'; readonly parts: readonly Expression[] }
  | {
      readonly type: 'repeat'
      readonly part: Expression
      readonly least: number
      readonly most: number
      readonly lazy: boolean
    }

/** An error in the words of Go's parser, which users of the API server know. */
export class ExpressionError extends Error {
  constructor(problem: string, fragment: string) {
    super(`error parsing regexp: ${problem}: \`${fragment}\``)
  }
}

interface Flags {
  readonly ignoreCase: boolean
  readonly multiline: boolean
  readonly dotAll: boolean
  readonly swapLazy: boolean
}

/** The longest source; a real one is a line or two. */
const longest = 100_000
const mostRepeats = 1000
const deepestNesting = 250
const controls: Readonly<Record<string, number>> = { a: 7, f: 0x0c, t: 9, n: 0x0a, r: 0x0d, v: 0x0b }
const newline: CharacterSet = (codePoint) => codePoint === 0x0a

/**
 * Parses RE2's syntax, which Kubernetes uses in `pattern` and in CEL. No look-around and no back-references, by design.
 */
export function parseExpression(source: string): Expression {
  if (source.length > longest) throw new ExpressionError('expression too large', source.slice(0, 64))
  return new ExpressionParser(source).parse()
}

class ExpressionParser {
  readonly #source: string
  #at = 0
  #depth = 0
  #flags: Flags = { ignoreCase: false, multiline: false, dotAll: false, swapLazy: false }

  constructor(source: string) {
    this.#source = source
  }

  parse(): Expression {
    const expression = this.#choice()
    if (this.#at < this.#source.length) throw new ExpressionError('unexpected )', this.#source)
    return expression
  }

  #choice(): Expression {
    if (++this.#depth > deepestNesting) throw new ExpressionError('expression nests too deeply', this.#source)
    const parts = [this.#sequence()]
    while (this.#take('|')) parts.push(this.#sequence())
    this.#depth--
    const [only] = parts
    return only && parts.length === 1 ? only : { type: 'choice', parts }
  }

  #sequence(): Expression {
    const parts: Expression[] = []
    while (this.#at < this.#source.length && !this.#sees('|') && !this.#sees(')')) {
      const from = this.#at
      const part = this.#atom()
      if (part) parts.push(this.#repeated(part, from))
    }
    const [only] = parts
    if (parts.length === 0) return { type: 'empty' }
    return only && parts.length === 1 ? only : { type: 'sequence', parts }
  }

  /** Undefined for what matches nothing by itself: flags, an empty quotation. */
  #atom(): Expression | undefined {
    const rest = this.#source.slice(this.#at, this.#at + 2)
    switch (rest[0]) {
      case '(':
        return this.#group()
      case '[':
        return { type: 'one', set: this.#class() }
      case '.':
        this.#at++
        return { type: 'one', set: this.#flags.dotAll ? () => true : not(newline) }
      case '^':
        this.#at++
        return { type: 'assert', assertion: this.#flags.multiline ? 'line-start' : 'text-start' }
      case '$':
        this.#at++
        return { type: 'assert', assertion: this.#flags.multiline ? 'line-end' : 'text-end' }
      case '*':
      case '+':
      case '?':
        throw new ExpressionError('missing argument to repetition operator', rest[0])
      case '\\':
        return this.#escape(rest)
      default:
        return this.#literal(this.#nextCodePoint())
    }
  }

  #group(): Expression | undefined {
    const from = this.#at
    const outer = this.#flags
    this.#at++
    if (this.#take('?')) {
      const name = /^P?<([A-Za-z0-9_]+)>/.exec(this.#rest())
      const flags = /^([imsU]*)(?:-([imsU]+))?([:)])/.exec(this.#rest())
      if (name) this.#at += name[0].length
      else if (flags && flags[0] !== ')') {
        this.#at += flags[0].length
        this.#flags = withFlags(withFlags(outer, flags[1] ?? '', true), flags[2] ?? '', false)
        if (flags[3] === ')') return undefined
      } else {
        const fragment = this.#source.slice(from, from + (/^[<P]/.test(this.#rest()) ? 4 : 3))
        throw new ExpressionError('invalid or unsupported Perl syntax', fragment)
      }
    }
    const inner = this.#choice()
    if (!this.#take(')')) throw new ExpressionError('missing closing )', this.#source)
    this.#flags = outer
    return inner
  }

  #escape(start: string): Expression | undefined {
    const letter = start[1]
    if (letter === undefined) throw new ExpressionError('trailing backslash at end of expression', '')
    const assertion = assertions[letter]
    if (assertion) {
      this.#at += 2
      return { type: 'assert', assertion }
    }
    if (letter === 'Q') return this.#quotation()
    const set = this.#classEscape()
    return set ? { type: 'one', set } : this.#literal(this.#characterEscape())
  }

  #quotation(): Expression | undefined {
    const from = this.#at + 2
    const end = this.#source.indexOf(String.raw`\E`, from)
    const text = this.#source.slice(from, end === -1 ? undefined : end)
    this.#at = end === -1 ? this.#source.length : end + 2
    const parts = Array.from(text).map((character) => this.#literal(character.codePointAt(0) ?? 0))
    return parts.length === 0 ? undefined : { type: 'sequence', parts }
  }

  /** `\d`, `\pL` and the like; undefined when something else comes next. */
  #classEscape(): CharacterSet | undefined {
    const letter = this.#source[this.#at + 1] ?? ''
    const perl = perlClasses[letter.toLowerCase()]
    if (perl) {
      this.#at += 2
      const set = inRanges(perl)
      return letter === letter.toLowerCase() ? set : not(set)
    }
    const unicode = /^\\([pP])(?:\{(\^?)([^}]*)\}|([A-Za-z]))/.exec(this.#rest())
    if (!unicode) return undefined
    const set = unicodeClass(unicode[3] ?? unicode[4] ?? '')
    if (!set) throw new ExpressionError('invalid character class range', unicode[0])
    this.#at += unicode[0].length
    const negated = (unicode[1] === 'P') !== (unicode[2] === '^')
    return negated ? not(set) : set
  }

  #characterEscape(): number {
    const rest = this.#rest()
    const letter = rest[1] ?? ''
    const hex = /^\\x(?:\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2}))/.exec(rest)
    const octal = /^\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(rest)
    const code = hex ? Number.parseInt(hex[1] ?? hex[2] ?? '', 16) : octal ? Number.parseInt(octal[0].slice(1), 8) : -1
    if (code >= 0 && code <= 0x10ffff) {
      this.#at += (hex ?? octal)?.[0].length ?? 0
      return code
    }
    const control = controls[letter]
    if (control === undefined && !/^[\u0021-\u002f\u003a-\u0040[-`{-~]$/.test(letter)) {
      throw new ExpressionError('invalid escape sequence', `\\${letter}`)
    }
    this.#at += 2
    return control ?? letter.charCodeAt(0)
  }

  #class(): CharacterSet {
    const from = this.#at
    this.#at++
    const negated = this.#take('^')
    const ranges: Range[] = []
    const sets: CharacterSet[] = []
    for (let first = true; first || !this.#sees(']'); first = false) {
      if (this.#at >= this.#source.length) throw new ExpressionError('missing closing ]', this.#source.slice(from))
      const named = /^\[:(\^?)([a-z]+):\]/.exec(this.#rest())
      const set = named ? this.#posixClass(named) : this.#sees('\\') ? this.#classEscape() : undefined
      if (set) sets.push(set)
      else ranges.push(this.#range())
    }
    this.#at++
    if (ranges.length > 0) sets.push(inRanges(ranges))
    const all = this.#flags.ignoreCase ? ignoringCase(anyOf(sets)) : anyOf(sets)
    return negated ? not(all) : all
  }

  #posixClass(named: RegExpExecArray): CharacterSet {
    const ranges = posixClasses[named[2] ?? '']
    if (!ranges) throw new ExpressionError('invalid character class range', named[0])
    this.#at += named[0].length
    return named[1] === '^' ? not(inRanges(ranges)) : inRanges(ranges)
  }

  #range(): Range {
    const at = this.#at
    const from = this.#classCharacter()
    if (!this.#sees('-') || this.#source[this.#at + 1] === ']' || this.#at + 1 >= this.#source.length)
      return [from, from]
    this.#at++
    const to = this.#classCharacter()
    if (to < from) throw new ExpressionError('invalid character class range', this.#source.slice(at, this.#at))
    return [from, to]
  }

  #classCharacter(): number {
    return this.#sees('\\') ? this.#characterEscape() : this.#nextCodePoint()
  }

  #repeated(part: Expression, from: number): Expression {
    const counts = this.#counts()
    if (!counts) return part
    const [least, most] = counts
    const lazy = this.#take('?') !== this.#flags.swapLazy
    const end = this.#at
    if (this.#counts()) {
      throw new ExpressionError(
        'invalid nested repetition operator',
        this.#source.slice(Math.max(from, end - 1), this.#at),
      )
    }
    return { type: 'repeat', part, least, most, lazy }
  }

  /** The bounds of a repetition, if one comes next. */
  #counts(): readonly [least: number, most: number] | undefined {
    if (this.#take('*')) return [0, Infinity]
    if (this.#take('+')) return [1, Infinity]
    if (this.#take('?')) return [0, 1]
    // A brace that is not a repetition is a plain character.
    const braces = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(this.#rest())
    if (!braces) return undefined
    const least = Number(braces[1])
    const most = braces[2] === undefined ? least : braces[3] === '' ? Infinity : Number(braces[3])
    if (least > mostRepeats || (most !== Infinity && most > mostRepeats) || most < least) {
      throw new ExpressionError('invalid repeat count', braces[0])
    }
    this.#at += braces[0].length
    return [least, most]
  }

  #literal(codePoint: number): Expression {
    const set: CharacterSet = (other) => other === codePoint
    return { type: 'one', set: this.#flags.ignoreCase ? ignoringCase(set) : set }
  }

  #nextCodePoint(): number {
    const codePoint = this.#source.codePointAt(this.#at) ?? 0
    this.#at += codePoint > 0xffff ? 2 : 1
    return codePoint
  }

  /** What follows, as far as one token can reach. */
  #rest(): string {
    return this.#source.slice(this.#at, this.#at + 64)
  }

  #sees(character: string): boolean {
    return this.#source[this.#at] === character
  }

  #take(character: string): boolean {
    if (!this.#sees(character)) return false
    this.#at++
    return true
  }
}

const assertions: Readonly<Record<string, Assertion>> = {
  A: 'text-start',
  z: 'text-end',
  b: 'word-boundary',
  B: 'no-word-boundary',
}

function withFlags(flags: Flags, letters: string, value: boolean): Flags {
  return {
    ignoreCase: letters.includes('i') ? value : flags.ignoreCase,
    multiline: letters.includes('m') ? value : flags.multiline,
    dotAll: letters.includes('s') ? value : flags.dotAll,
    swapLazy: letters.includes('U') ? value : flags.swapLazy,
  }
}
