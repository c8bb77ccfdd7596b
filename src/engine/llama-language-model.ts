import type { Llama, LlamaContextSequence, LlamaModel } from 'node-llama-cpp'
import { SluiceError } from '../foundation/errors.ts'
import { AnswerGrammars } from './answer-grammar.ts'
import type { ChatTemplate } from './chat-template.ts'
import { type ComputingSequence, alignSequence, generate } from './generation.ts'
import type {
  AnswerConstraint,
  AnswerFormat,
  ChatMessage,
  Embeddings,
  GenerationOptions,
  GenerationSeat,
  LanguageModel,
  Prompt,
  SamplingDefaults,
} from './language-model.ts'
import { LlamaEmbeddings } from './llama-embeddings.ts'
import { toToken } from './sampling-options.ts'
import { SlotQueue } from './slot-queue.ts'
import type { ToolDefinition } from './tool-definitions.ts'
import { generateWithTools } from './tool-generation.ts'

const retryAfterSeconds = 5
/** No vocabulary has longer tokens; a text beyond this many characters per token need not be tokenized to be refused. */
const longestTokenCharacters = 512

/** What a language model is made of once its file is loaded. */
export interface LoadedParts {
  readonly llama: Llama
  readonly model: LlamaModel
  readonly slots: readonly ComputingSequence[]
  readonly template: ChatTemplate
  readonly contextLength: number
  readonly name: string
  readonly threads: number
  readonly samplingDefaults: SamplingDefaults
  /** Requests that may wait for a sequence. */
  readonly waitingLimit: number
}

export class LlamaLanguageModel implements LanguageModel {
  readonly contextLength: number
  readonly vocabularySize: number
  readonly samplingDefaults: SamplingDefaults
  readonly #llama: Llama
  readonly #model: LlamaModel
  readonly #template: ChatTemplate
  readonly #grammars: AnswerGrammars
  readonly #embeddings: LlamaEmbeddings
  readonly #slots: SlotQueue<ComputingSequence>

  constructor(parts: LoadedParts) {
    const { llama, model, slots, template, contextLength, name, threads, samplingDefaults, waitingLimit } = parts
    this.contextLength = contextLength
    this.vocabularySize = [...model.iterateAllTokens()].length
    this.samplingDefaults = samplingDefaults
    this.#llama = llama
    this.#model = model
    this.#template = template
    this.#grammars = new AnswerGrammars(llama)
    this.#embeddings = new LlamaEmbeddings(model, contextLength, threads)
    this.#slots = new SlotQueue(
      slots,
      waitingLimit,
      (waiting) => new SluiceError('waiting_room_full', { waiting, model: name, retryAfterSeconds }),
    )
  }

  get load() {
    return { running: this.#slots.running, waiting: this.#slots.waiting }
  }

  textPrompt(text: string, addSpecialTokens = true): Prompt {
    this.#refuseHopeless(text.length)
    // A raw prompt may be written in the model's own markup, as a client with a template of its own does.
    const tokens = this.#model.tokenize(text, true)
    const { bos, shouldPrependBosToken } = this.#model.tokens
    if (addSpecialTokens && shouldPrependBosToken && bos !== null) tokens.unshift(bos)
    return { tokens, opening: '', endings: [] }
  }

  tokenPrompt(tokens: readonly number[]): Prompt {
    return { tokens: tokens.map(toToken), opening: '', endings: [] }
  }

  chatPrompt(messages: readonly ChatMessage[], tools: readonly ToolDefinition[] = []): Prompt {
    this.#refuseHopeless(messages.reduce((sum, { content }) => sum + content.length, 0))
    return this.#template.render(messages, tools)
  }

  tokenText(tokens: readonly number[]): string {
    return this.#model.detokenize(tokens.map(toToken), true)
  }

  isEndToken(token: number): boolean {
    return this.#model.isEogToken(toToken(token))
  }

  constrain(format: AnswerFormat): Promise<AnswerConstraint> {
    return this.#grammars.compile(format)
  }

  embed(inputs: readonly (string | readonly number[])[], signal: AbortSignal): Promise<Embeddings> {
    return this.#embeddings.embed(inputs, signal)
  }

  async reserve(prompt: Prompt, signal: AbortSignal): Promise<GenerationSeat> {
    const computing = await this.#slots.acquire((idle) => mostAlike(idle, prompt), signal)
    let released = false
    const release = () => {
      if (!released) this.#slots.release(computing)
      released = true
    }
    try {
      const reusedTokens = await alignSequence(computing.sequence, prompt.tokens)
      return {
        reusedTokens,
        generate: (options, signal) => this.#generate(computing, prompt, options, signal),
        release,
      }
    } catch (error) {
      release()
      throw error
    }
  }

  #generate(computing: ComputingSequence, prompt: Prompt, options: GenerationOptions, signal: AbortSignal) {
    const { tools } = options
    const { toolSyntax: syntax } = prompt
    if (!tools || !syntax || tools.choice.type === 'none') return generate(computing, prompt, options, signal)
    const constrain = (format: AnswerFormat) => this.constrain(format)
    const tokenize = (markup: string) => this.#model.tokenize(markup, true)
    return generateWithTools({ computing, prompt, syntax, constrain, tokenize }, { ...options, tools }, signal)
  }

  /** Tokenizing blocks the process: millions of characters that cannot fit anyway must not make the others wait. */
  #refuseHopeless(characters: number): void {
    if (characters <= this.contextLength * longestTokenCharacters) return
    throw new SluiceError('context_length_exceeded', {
      tokens: `more than ${this.contextLength}`,
      limit: this.contextLength,
    })
  }

  async dispose(): Promise<void> {
    await this.#llama.dispose()
  }
}

/**
 * The idle sequence that shares the longest beginning with the prompt; among equals the emptiest, to keep the others' memory,
 * and of those the first: sequences without gaps between them are computed in one go.
 */
function mostAlike(idle: readonly ComputingSequence[], prompt: Prompt): ComputingSequence | undefined {
  const rated = idle.map((computing) => ({
    computing,
    shared: sharedLength(computing.sequence, prompt),
    held: computing.sequence.nextTokenIndex,
  }))
  return rated.sort((a, b) => b.shared - a.shared || a.held - b.held || a.computing.order - b.computing.order)[0]
    ?.computing
}

function sharedLength(sequence: LlamaContextSequence, prompt: Prompt): number {
  return sequence.compareContextTokens([...prompt.tokens]).firstDifferentIndex
}
