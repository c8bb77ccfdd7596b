/** A piece of grammar for one value, in the notation of llama.cpp, that the library does not write itself. */
export interface GrammarRule {
  readonly expression: string
  /** Rules that it refers to. */
  readonly rules?: readonly string[]
  /** How often its parts are repeated, all together: a grammar writes out every one of them. */
  readonly repetitions?: number
  /** The fewest and the most characters that it allows, for values that are texts. */
  readonly fewest?: number
  readonly most?: number
}

/** Why something cannot be written as a grammar. */
export class NoGrammar extends Error {
  override readonly name = 'NoGrammar'
}

export function oneOf(expressions: readonly string[]): string {
  if (expressions.length === 0) throw new NoGrammar('no value could ever match')
  return expressions.length === 1 ? String(expressions[0]) : `(${expressions.join(' | ')})`
}

/** A code point inside the brackets of a grammar. */
export function classCharacter(codePoint: number): string {
  const character = String.fromCodePoint(codePoint)
  if (/[A-Za-z0-9]/.test(character)) return character
  const hex = codePoint.toString(16).toUpperCase()
  if (codePoint <= 0xff) return String.raw`\x${hex.padStart(2, '0')}`
  return codePoint <= 0xffff ? String.raw`\u${hex.padStart(4, '0')}` : String.raw`\U${hex.padStart(8, '0')}`
}
