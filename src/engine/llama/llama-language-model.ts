import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { AnswerGrammars } from '../grammar/answer-grammar.ts'
import type { ChatTemplate } from '../templates/chat-template.ts'
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
import { chooseSequence } from './memory/choose-sequence.ts'
import { PromptTokenizer } from '../requests/prompt-tokens.ts'
import type { Computing } from './native/computing.ts'
import type { GrowingContext } from './native/growing-context.ts'
import type { LoadedModel, Token } from './native/loaded-model.ts'
import { Sequence } from './native/sequence.ts'
import type { StepThreads } from './native/step-threads.ts'
import { SlotQueue } from './slot-queue.ts'
import type { ToolDefinition } from '../requests/tool-definitions.ts'
import { generateWithTools } from '../answers/tool-generation.ts'

const retryAfterSeconds = 5
/** How many tokens `tokenize` takes at least, even if the model's context is shorter. */
const mostTokenized = 65_536
/** After so long without a request, the memory of all conversations but the last is given back. */
const shrinkAfterMs = 60_000

/** What is done when nobody has been answered for a while. */
interface IdleAct {
  readonly afterMs: number
  readonly act: () => Promise<void> | void
}

/** The parts of a language model whose file is loaded. */
export interface LoadedParts {
  readonly model: LoadedModel
  readonly context: GrowingContext
  readonly computing: Computing
  /** How many requests are computed together. */
  readonly sequences: number
  /** The one that the first request uses: a part of its prompt may be computed already. */
  readonly firstSequence: Sequence
  readonly clock: Clock
  readonly template: ChatTemplate
  readonly contextLength: number
  readonly name: string
  readonly threads: number
  readonly stepThreads: StepThreads
  readonly samplingDefaults: SamplingDefaults
  /** How many requests may wait for a sequence. */
  readonly waitingLimit: number
}

export class LlamaLanguageModel implements LanguageModel {
  readonly contextLength: number
  readonly vocabularySize: number
  readonly samplingDefaults: SamplingDefaults
  readonly #model: LoadedModel
  readonly #context: GrowingContext
  readonly #computing: Computing
  readonly #clock: Clock
  readonly #template: ChatTemplate
  readonly #tokenizer: PromptTokenizer
  readonly #grammars: AnswerGrammars
  readonly #embeddings: LlamaEmbeddings
  readonly #slots: SlotQueue<ComputingSequence>
  readonly #idleActs: IdleAct[] = []
  #uses = 0
  #isDisposed = false
  #cancelIdleActs = () => {}

  constructor(parts: LoadedParts) {
    const { model, context, computing, template, contextLength, name, threads, samplingDefaults, waitingLimit } = parts
    this.contextLength = contextLength
    this.vocabularySize = model.vocabularySize
    this.samplingDefaults = samplingDefaults
    this.#model = model
    this.#context = context
    this.#computing = computing
    this.#clock = parts.clock
    this.#template = template
    this.#tokenizer = new PromptTokenizer(model)
    this.#grammars = new AnswerGrammars(model.addon)
    this.#embeddings = new LlamaEmbeddings(model, contextLength, threads, parts.stepThreads)
    const slots = Array.from({ length: parts.sequences }, (_, index) => {
      return { model, computing, sequence: index === 0 ? parts.firstSequence : new Sequence() }
    })
    this.#slots = new SlotQueue(
      slots,
      waitingLimit,
      (waiting) => new SluiceError('waiting_room_full', { waiting, model: name, retryAfterSeconds }),
    )
    this.#idleActs.push({ afterMs: shrinkAfterMs, act: () => this.#context.shrink() })
  }

  get load() {
    return { running: this.#slots.running, waiting: this.#slots.waiting }
  }

  async textPrompt(text: string, signal: AbortSignal): Promise<Prompt> {
    const tokens = this.#withBeginning(await this.#tokenizer.text(text, this.contextLength, signal))
    return { tokens, opening: '', endings: [] }
  }

  async tokenize(text: string, addSpecialTokens: boolean, signal: AbortSignal): Promise<readonly Token[]> {
    const tokens = await this.#tokenizer.text(text, Math.max(this.contextLength, mostTokenized), signal)
    return addSpecialTokens ? this.#withBeginning(tokens) : tokens
  }

  tokenPrompt(tokens: readonly number[]): Prompt {
    return { tokens, opening: '', endings: [] }
  }

  chatPrompt(messages: readonly ChatMessage[], tools: readonly ToolDefinition[], signal: AbortSignal): Promise<Prompt> {
    return this.#template.render(messages, tools, this.contextLength, signal)
  }

  tokenText(tokens: readonly number[]): string {
    return this.#model.detokenize(tokens, true)
  }

  isEndToken(token: number): boolean {
    return this.#model.isEndToken(token)
  }

  constrain(format: AnswerFormat): Promise<AnswerConstraint> {
    return this.#grammars.compile(format)
  }

  async embed(inputs: readonly (string | readonly number[])[], signal: AbortSignal): Promise<Embeddings> {
    try {
      return await this.#embeddings.embed(inputs, signal)
    } finally {
      this.#actWhenIdle()
    }
  }

  async reserve(prompt: Prompt, signal: AbortSignal): Promise<GenerationSeat> {
    const computing = await this.#slots.acquire((idle) => chooseSequence(idle, prompt.tokens), signal)
    this.#cancelIdleActs()
    this.#uses += 1
    computing.sequence.usedAt = this.#uses
    let released = false
    const release = () => {
      if (released) return
      released = true
      this.#slots.release(computing)
      this.#actWhenIdle()
    }
    try {
      const reusedTokens = await alignSequence(computing, prompt.tokens)
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

  #withBeginning(tokens: Token[]): Token[] {
    const { bos, prependsBos } = this.#model
    if (prependsBos && bos !== undefined) tokens.unshift(bos)
    return tokens
  }

  /**
   * Does something each time nobody has been answered for so long, for the first time counted from now. Nothing is
   * computed meanwhile, and the model is in memory. It must not fail.
   */
  whenIdle(afterMs: number, act: IdleAct['act']): void {
    this.#idleActs.push({ afterMs, act })
    this.#actWhenIdle()
  }

  async dispose(): Promise<void> {
    this.#isDisposed = true
    this.#cancelIdleActs()
    await this.#computing.between(() => this.#context.dispose())
    await this.#embeddings.dispose()
    await this.#model.dispose()
    await this.#model.addon.dispose()
  }

  #actWhenIdle(): void {
    this.#cancelIdleActs()
    if (this.#slots.running > 0 || this.#isDisposed) return
    const cancels = this.#idleActs.map(({ afterMs, act }) => {
      return this.#clock.after(afterMs, () => void this.#computing.between(() => this.#doIfIdle(act)))
    })
    this.#cancelIdleActs = () => cancels.forEach((cancel) => cancel())
  }

  async #doIfIdle(act: IdleAct['act']): Promise<void> {
    if (this.#slots.running === 0 && !this.#isDisposed) await act()
  }
}
