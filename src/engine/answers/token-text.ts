import type { Token } from 'node-llama-cpp'

/** A character can be spread over this many tokens at most; past that the bytes are simply not text. */
const longestCharacterTokens = 8
/** Preceding tokens that decide about a leading space. */
const contextTokens = 4

export type Detokenize = (tokens: readonly Token[], preceding: readonly Token[]) => string

/** Turns tokens into text as they come, holding back those that end in the middle of a character. */
export class TokenText {
  readonly #detokenize: Detokenize
  #preceding: readonly Token[]
  #pending: Token[] = []

  constructor(detokenize: Detokenize, preceding: readonly Token[]) {
    this.#detokenize = detokenize
    this.#preceding = preceding.slice(-contextTokens)
  }

  push(token: Token): string {
    this.#pending.push(token)
    const text = this.#detokenize(this.#pending, this.#preceding)
    if (text.endsWith('\uFFFD') && this.#pending.length < longestCharacterTokens) return ''
    return this.#take(text)
  }

  flush(): string {
    return this.#pending.length === 0 ? '' : this.#take(this.#detokenize(this.#pending, this.#preceding))
  }

  #take(text: string): string {
    this.#preceding = [...this.#preceding, ...this.#pending].slice(-contextTokens)
    this.#pending = []
    return text
  }
}
