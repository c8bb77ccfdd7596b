import type { Token } from '../llama/native/loaded-model.ts'

/** The most tokens that one character can be spread over. After more than that, the bytes are not valid text. */
const longestCharacterTokens = 8
/** How many preceding tokens are decoded with a new one: they decide whether it begins with a space. */
const contextTokens = 4

export type Detokenize = (tokens: readonly Token[], preceding: readonly Token[]) => string

/** Turns tokens into text as they arrive, and holds back those that end in the middle of a character. */
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
