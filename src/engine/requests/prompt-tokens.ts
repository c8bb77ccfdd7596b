import type { LlamaText } from 'node-llama-cpp'
import { SluiceError } from '../../foundation/errors.ts'
import { nextTurn } from '../llama/loop-turn.ts'
import type { LoadedModel, Token } from '../llama/native/loaded-model.ts'
import { libraryTokenizer } from '../templates/library-tokenizer.ts'

/**
 * No vocabulary has longer tokens, so a text with more characters per token than this can be refused without tokenizing
 * it.
 */
export const longestTokenCharacters = 512
/** Tokenizing blocks the event loop: 5 to 10 ms for this many characters. */
const charactersPerTurn = 32_768
/** The fixed cost of each piece, expressed in characters. */
const pieceCharacters = 64
/**
 * The pieces of a text together may have a few more tokens than the whole, so the count in pieces is only an estimate.
 */
const estimateSlack = 1.25

/**
 * Turns prompts into tokens. Long ones are done over several turns of the event loop, and only up to the length that
 * can fit.
 */
export class PromptTokenizer {
  readonly #model: LoadedModel

  constructor(model: LoadedModel) {
    this.#model = model
  }

  /** For a raw prompt. It may contain the model's own markup, since clients may apply a template themselves. */
  async text(text: string, most: number, signal: AbortSignal): Promise<Token[]> {
    await this.#refuseTooLong(text, most, signal)
    return this.#model.tokenize(text, true)
  }

  /** For a text in which markup has no meaning. */
  async plainText(text: string, most: number, signal: AbortSignal): Promise<Token[]> {
    await this.#refuseTooLong(text, most, signal)
    return this.#model.tokenize(text)
  }

  /** For the output of a template: the same as `LlamaText.tokenize`, but over several turns of the event loop. */
  async templated({ values }: LlamaText, most: number, signal: AbortSignal): Promise<Token[]> {
    const tokenizer = libraryTokenizer(this.#model)
    const tokens: Token[] = []
    let plain = ''
    let work = 0
    const add = async (characters: number, tokenize: () => readonly Token[]) => {
      for (const token of tokenize()) tokens.push(token)
      if (tokens.length > most) throw tooLong(most)
      work += characters + pieceCharacters
      if (work < charactersPerTurn) return
      work = 0
      await nextTurn(signal)
    }
    const addPlain = async () => {
      if (plain === '') return
      const text = plain
      await this.#refuseTooLong(text, most, signal)
      await add(text.length, () => this.#model.tokenizeContinuation(text))
      plain = ''
    }
    for (const value of values) {
      if (typeof value === 'string') {
        plain += value
        continue
      }
      const follows = tokens.length > 0 || plain !== ''
      await addPlain()
      await add(value.value.length, () => value.tokenize(tokenizer, follows))
    }
    await addPlain()
    return tokens
  }

  /** Estimates the tokens of a long text piece by piece; the whole is tokenized only if it may fit. */
  async #refuseTooLong(text: string, most: number, signal: AbortSignal): Promise<void> {
    if (text.length > most * longestTokenCharacters) throw tooLong(most)
    if (text.length <= charactersPerTurn) return
    let count = 0
    for (let at = 0; at < text.length; at += charactersPerTurn) {
      count += this.#model.tokenize(text.slice(at, at + charactersPerTurn)).length
      if (count > most * estimateSlack) throw tooLong(most)
      await nextTurn(signal)
    }
  }
}

export function tooLong(limit: number): SluiceError {
  return new SluiceError('context_length_exceeded', { tokens: `more than ${limit}`, limit })
}
