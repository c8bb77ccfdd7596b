import type { LlamaEmbeddingContext, LlamaModel, Token } from 'node-llama-cpp'
import { SluiceError } from '../../foundation/errors.ts'
import type { Embeddings } from './language-model.ts'
import { nextTurn } from './loop-turn.ts'
import { PromptTokenizer } from '../requests/prompt-tokens.ts'
import { requestLimits } from '../http/request-limits.ts'
import { toToken } from '../requests/sampling-options.ts'

/**
 * Turns texts into vectors. Its context is created by the first request, since most models are never asked for vectors.
 */
export class LlamaEmbeddings {
  readonly #model: LlamaModel
  readonly #tokenizer: PromptTokenizer
  readonly #contextLength: number
  readonly #threads: number
  #context: Promise<LlamaEmbeddingContext> | undefined

  constructor(model: LlamaModel, contextLength: number, threads: number) {
    this.#model = model
    this.#tokenizer = new PromptTokenizer(model)
    this.#contextLength = contextLength
    this.#threads = threads
  }

  async embed(inputs: readonly (string | readonly number[])[], signal: AbortSignal): Promise<Embeddings> {
    const context = await this.#open()
    const resolved: Token[][] = []
    let promptTokens = 0
    for (const input of inputs) {
      const tokens = await this.#tokensOf(input, signal)
      const length = context.calculateInputLength([...tokens])
      // The library's contexts keep one place free.
      if (length >= this.#contextLength) {
        throw new SluiceError('context_length_exceeded', { tokens: length, limit: this.#contextLength - 1 })
      }
      promptTokens += length
      if (promptTokens > requestLimits['input tokens']) throw tooManyTokens()
      resolved.push(tokens)
      await nextTurn(signal)
    }
    const vectors: number[][] = []
    for (const tokens of resolved) {
      signal.throwIfAborted()
      const { vector } = await context.getEmbeddingFor(tokens)
      vectors.push(normalize(vector))
    }
    return { vectors, promptTokens }
  }

  #tokensOf(input: string | readonly number[], signal: AbortSignal): Promise<Token[]> | Token[] {
    if (typeof input !== 'string') return input.map(toToken)
    return this.#tokenizer.plainText(input, this.#contextLength, signal)
  }

  #open(): Promise<LlamaEmbeddingContext> {
    // The whole input must be computed in one batch, because pooling uses all of its tokens.
    const sizes = { contextSize: this.#contextLength, batchSize: this.#contextLength }
    this.#context ??= this.#model.createEmbeddingContext({ ...sizes, threads: this.#threads })
    return this.#context
  }
}

function tooManyTokens(): SluiceError {
  const reason = `input: more than ${requestLimits['input tokens']} tokens in all. Send fewer, or several requests.`
  return new SluiceError('invalid_request', { reason, param: 'input' })
}

/** Scales a vector to length 1, as OpenAI's are, so that a dot product is the cosine. */
export function normalize(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector)
  return length > 0 ? vector.map((value) => value / length) : [...vector]
}
