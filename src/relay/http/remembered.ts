/** Longer texts rarely repeat. */
const longestText = 160
const mostTexts = 1_024

/**
 * Remembers the parsed form of short texts that come with almost every message (request lines, fields, status lines),
 * at most 1,024 texts of 160 characters per table. A full table is emptied, so nobody can make it grow. It matters for
 * heads unlike the last of their connection: without it, reading one takes more than twice as long.
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

/** Copies a text: a slice keeps its whole source in memory, and is slower to look up. */
export function ownText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
