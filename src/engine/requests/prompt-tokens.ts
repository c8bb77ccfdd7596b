import type { LlamaModel, LlamaText, Token } from 'node-llama-cpp'
import { SluiceError } from '../../foundation/errors.ts'
import { nextTurn } from '../llama/loop-turn.ts'

/**
 * No vocabulary has longer tokens; a text beyond this many characters per token need not be tokenized to be refused.
 */
export const longestTokenCharacters = 512
/** Tokenizing blocks the event loop: 5 to 10 ms for this many characters. */
const charactersPerTurn = 32_768
/** What a short piece costs beside its characters. */
const pieceCharacters = 64
/** A text that is cut anywhere has a few tokens more or less than the whole. */
const estimateSlack = 1.25

/** Turns prompts into tokens, in turns, and no further than they could fit. */
export class PromptTokenizer {
  readonly #model: LlamaModel

  constructor(model: LlamaModel) {
    this.#model = model
  }

  /** A raw prompt may be written in the model's own markup, as a client with a template of its own does. */
  async text(text: string, most: number, signal: AbortSignal): Promise<Token[]> {
    await this.#refuseTooLong(text, most, signal)
    return this.#model.tokenize(text, true)
  }

  /** A text in which markup means nothing. */
  async plainText(text: string, most: number, signal: AbortSignal): Promise<Token[]> {
    await this.#refuseTooLong(text, most, signal)
    return this.#model.tokenize(text)
  }

  /** What `LlamaText.tokenize` does with what a template wrote, in turns. */
  async templated({ values }: LlamaText, most: number, signal: AbortSignal): Promise<Token[]> {
    const { tokenizer } = this.#model
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
      await add(text.length, () => tokenizer(text, false, 'trimLeadingSpace'))
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

  /** Counts a long text piece by piece first; the whole of it is tokenized only when it may fit. */
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
