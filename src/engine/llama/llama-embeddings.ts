import { SluiceError } from '../../foundation/errors.ts'
import type { Embeddings } from './language-model.ts'
import { nextTurn } from './loop-turn.ts'
import { PromptTokenizer } from '../requests/prompt-tokens.ts'
import { requestLimits } from '../http/request-limits.ts'
import type { NativeContext } from './native/llama-addon.ts'
import type { LoadedModel, Token } from './native/loaded-model.ts'
import type { StepThreads } from './native/step-threads.ts'

/**
 * Turns texts into vectors. Its context is created by the first request, since most models are never asked for vectors.
 */
export class LlamaEmbeddings {
  readonly #model: LoadedModel
  readonly #tokenizer: PromptTokenizer
  readonly #contextLength: number
  readonly #threads: number
  readonly #stepThreads: StepThreads
  #context: Promise<NativeContext> | undefined
  /** One text after the other: they share a context. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(model: LoadedModel, contextLength: number, threads: number, stepThreads: StepThreads) {
    this.#model = model
    this.#tokenizer = new PromptTokenizer(model)
    this.#contextLength = contextLength
    this.#threads = threads
    this.#stepThreads = stepThreads
  }

  async embed(inputs: readonly (string | readonly number[])[], signal: AbortSignal): Promise<Embeddings> {
    const context = await this.#open()
    const resolved: (readonly Token[])[] = []
    let promptTokens = 0
    for (const input of inputs) {
      const tokens = this.#framed(await this.#tokensOf(input, signal))
      const { length } = tokens
      if (length > this.#contextLength) {
        throw new SluiceError('context_length_exceeded', { tokens: length, limit: this.#contextLength })
      }
      promptTokens += length
      if (promptTokens > requestLimits['input tokens']) throw tooManyTokens()
      resolved.push(tokens)
      await nextTurn(signal)
    }
    const vectors: number[][] = []
    for (const tokens of resolved) {
      signal.throwIfAborted()
      vectors.push(normalize(await this.#inTurn(() => vectorOf(context, tokens, this.#stepThreads))))
    }
    return { vectors, promptTokens }
  }

  async dispose(): Promise<void> {
    const context = await this.#context?.catch(() => undefined)
    await this.#last.catch(() => undefined)
    await context?.dispose()
  }

  #inTurn<T>(compute: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(compute, compute)
    this.#last = turn
    return turn
  }

  /** With the tokens that this vocabulary puts around every text. */
  #framed(tokens: readonly Token[]): readonly Token[] {
    if (tokens.length === 0) return tokens
    const { first, last } = this.#model.embeddingFrame
    return [
      ...(first === undefined || tokens[0] === first ? [] : [first]),
      ...tokens,
      ...(last === undefined || tokens.at(-1) === last ? [] : [last]),
    ]
  }

  #tokensOf(input: string | readonly number[], signal: AbortSignal): Promise<Token[]> | Token[] {
    if (typeof input !== 'string') return [...input]
    return this.#tokenizer.plainText(input, this.#contextLength, signal)
  }

  #open(): Promise<NativeContext> {
    this.#context ??= createContext(this.#model, this.#contextLength, this.#threads)
    return this.#context
  }
}

async function createContext(model: LoadedModel, length: number, threads: number): Promise<NativeContext> {
  const native = new model.addon.AddonContext(model.native, {
    contextSize: length,
    sequences: 1,
    // The whole input must be computed in one batch, because pooling uses all of its tokens.
    batchSize: length,
    threads,
    flashAttention: 'auto',
    embeddings: true,
  })
  if (await native.init()) return native
  await native.dispose()
  throw new SluiceError('engine_memory_full')
}

async function vectorOf(context: NativeContext, tokens: readonly Token[], threads: StepThreads): Promise<number[]> {
  if (tokens.length === 0) return []
  context.disposeSequence(0)
  context.initBatch(tokens.length)
  context.addToBatch(0, 0, Uint32Array.from(tokens), Uint32Array.of(tokens.length - 1))
  context.setThreads(threads.forStep(tokens.length))
  await context.decodeBatch()
  return [...context.getEmbedding(tokens.length)]
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
