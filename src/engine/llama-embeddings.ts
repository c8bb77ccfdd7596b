import type { LlamaEmbeddingContext, LlamaModel } from 'node-llama-cpp'
import { SluiceError } from '../foundation/errors.ts'
import type { Embeddings } from './language-model.ts'
import { toToken } from './sampling-options.ts'

/** Turns texts into vectors. Its memory is taken by the first request, since most models are never asked. */
export class LlamaEmbeddings {
  readonly #model: LlamaModel
  readonly #contextLength: number
  readonly #threads: number
  #context: Promise<LlamaEmbeddingContext> | undefined

  constructor(model: LlamaModel, contextLength: number, threads: number) {
    this.#model = model
    this.#contextLength = contextLength
    this.#threads = threads
  }

  async embed(inputs: readonly (string | readonly number[])[], signal: AbortSignal): Promise<Embeddings> {
    const context = await this.#open()
    const resolved = inputs.map((input) => (typeof input === 'string' ? input : input.map(toToken)))
    const lengths = resolved.map((input) => context.calculateInputLength(input))
    const longest = Math.max(...lengths)
    // One place stays free in the library's contexts.
    if (longest >= this.#contextLength) {
      throw new SluiceError('context_length_exceeded', { tokens: longest, limit: this.#contextLength - 1 })
    }
    const vectors: number[][] = []
    for (const input of resolved) {
      signal.throwIfAborted()
      const { vector } = await context.getEmbeddingFor(input)
      vectors.push(normalize(vector))
    }
    return { vectors, promptTokens: lengths.reduce((sum, length) => sum + length, 0) }
  }

  #open(): Promise<LlamaEmbeddingContext> {
    // The whole input must be computed in one batch: pooling looks at all of its tokens.
    const sizes = { contextSize: this.#contextLength, batchSize: this.#contextLength }
    this.#context ??= this.#model.createEmbeddingContext({ ...sizes, threads: this.#threads })
    return this.#context
  }
}

/** Of length 1, as OpenAI's are: then a dot product is the cosine. */
export function normalize(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector)
  return length > 0 ? vector.map((value) => value / length) : [...vector]
}
