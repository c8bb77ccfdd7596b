import {
  type Llama,
  type LlamaContextSequence,
  LlamaLogLevel,
  type LlamaModel,
  NoBinaryFoundError,
  getLlama,
} from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { type ChatTemplate, createChatTemplate } from './chat-template.ts'
import { alignSequence, generate } from './generation.ts'
import type { ChatMessage, GenerationSeat, LanguageModel, Prompt, SamplingDefaults } from './language-model.ts'
import type { ModelCompanions } from './model-companions.ts'
import { SlotQueue } from './slot-queue.ts'

/** Without --max-model-len: every sequence keeps this much memory ready, so the training length (often 128k) is no default. */
const defaultContextLength = 4096
const retryAfterSeconds = 5
/** No vocabulary has longer tokens; a text beyond this many characters per token need not be tokenized to be refused. */
const longestTokenCharacters = 512

export interface LlamaModelOptions {
  readonly file: string
  readonly name: string
  readonly companions: ModelCompanions
  readonly maxModelLen: number | undefined
  readonly threads: number
  /** Requests that compute together. */
  readonly sequences: number
  /** Requests that may wait for a sequence. */
  readonly waitingLimit: number
  readonly log: Logger
  readonly onProgress: (fraction: number) => void
  readonly signal: AbortSignal
}

/** Loads a GGUF file through llama.cpp on the CPU. */
export async function loadLlamaModel(options: LlamaModelOptions): Promise<LanguageModel> {
  const llama = await openLlama(options)
  try {
    const model = await llama.loadModel({
      modelPath: options.file,
      gpuLayers: 0,
      loadSignal: options.signal,
      onLoadProgress: options.onProgress,
    })
    const contextLength = decideContextLength(options.maxModelLen, model.trainContextSize)
    const context = await model.createContext({
      sequences: options.sequences,
      contextSize: contextLength,
      threads: options.threads,
      createSignal: options.signal,
    })
    const sequences = Array.from({ length: options.sequences }, () => context.getSequence())
    const template = createChatTemplate(model, options.companions.chatTemplate, options.log)
    return new LlamaLanguageModel({ llama, model, sequences, template, contextLength, options })
  } catch (error) {
    await llama.dispose()
    throw asStartFailure(error)
  }
}

/** Only the binaries that were installed are used: nothing is ever compiled or downloaded at run time. */
async function openLlama(options: LlamaModelOptions): Promise<Llama> {
  try {
    return await getLlama({
      gpu: false,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      maxThreads: options.threads,
      logLevel: LlamaLogLevel.warn,
      logger: (level, message) => {
        const write = level === LlamaLogLevel.error || level === LlamaLogLevel.fatal ? 'error' : 'debug'
        options.log[write]({ from: 'llama.cpp' }, message.trim())
      },
    })
  } catch (error) {
    if (!(error instanceof NoBinaryFoundError)) throw asStartFailure(error)
    throw new SluiceError('engine_start_failed', {
      reason: `llama.cpp's binaries for ${process.platform}-${process.arch} are not installed. Install again with optional dependencies.`,
    })
  }
}

export function decideContextLength(maxModelLen: number | undefined, trainedLength: number): number {
  if (maxModelLen !== undefined && maxModelLen > trainedLength) {
    throw new SluiceError('engine_start_failed', {
      reason: `--max-model-len is ${maxModelLen}, but the model was trained on ${trainedLength} tokens.`,
    })
  }
  return maxModelLen ?? Math.min(trainedLength, defaultContextLength)
}

interface LoadedParts {
  readonly llama: Llama
  readonly model: LlamaModel
  readonly sequences: readonly LlamaContextSequence[]
  readonly template: ChatTemplate
  readonly contextLength: number
  readonly options: LlamaModelOptions
}

class LlamaLanguageModel implements LanguageModel {
  readonly contextLength: number
  readonly samplingDefaults: SamplingDefaults
  readonly #llama: Llama
  readonly #model: LlamaModel
  readonly #template: ChatTemplate
  readonly #slots: SlotQueue<LlamaContextSequence>

  constructor({ llama, model, sequences, template, contextLength, options }: LoadedParts) {
    this.contextLength = contextLength
    this.samplingDefaults = options.companions.samplingDefaults
    this.#llama = llama
    this.#model = model
    this.#template = template
    this.#slots = new SlotQueue(
      sequences,
      options.waitingLimit,
      (waiting) => new SluiceError('waiting_room_full', { waiting, model: options.name, retryAfterSeconds }),
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

  chatPrompt(messages: readonly ChatMessage[]): Prompt {
    this.#refuseHopeless(messages.reduce((sum, { content }) => sum + content.length, 0))
    return this.#template.render(messages)
  }

  async reserve(prompt: Prompt, signal: AbortSignal): Promise<GenerationSeat> {
    const sequence = await this.#slots.acquire((idle) => mostAlike(idle, prompt), signal)
    let released = false
    const release = () => {
      if (!released) this.#slots.release(sequence)
      released = true
    }
    try {
      const reusedTokens = await alignSequence(sequence, prompt)
      return { reusedTokens, generate: (options, signal) => generate(sequence, prompt, options, signal), release }
    } catch (error) {
      release()
      throw error
    }
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

/** The idle sequence that shares the longest beginning with the prompt; among equals the emptiest, to keep the others' memory. */
function mostAlike(idle: readonly LlamaContextSequence[], prompt: Prompt): LlamaContextSequence | undefined {
  const rated = idle.map((sequence) => ({
    sequence,
    shared: sequence.compareContextTokens([...prompt.tokens]).firstDifferentIndex,
    held: sequence.nextTokenIndex,
  }))
  return rated.sort((a, b) => b.shared - a.shared || a.held - b.held)[0]?.sequence
}

function asStartFailure(error: unknown): Error {
  if (error instanceof SluiceError) return error
  return new SluiceError('engine_start_failed', { reason: errorMessage(error) }, { cause: error })
}
