import type { Llama, LlamaModel } from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { createChatTemplate } from '../templates/chat-template.ts'
import type { LanguageModel } from './language-model.ts'
import { openLlama } from './llama-backend.ts'
import { LlamaLanguageModel, type LoadedParts } from './llama-language-model.ts'
import type { ModelCompanions } from '../models/model-companions.ts'
import { toToken } from '../requests/sampling-options.ts'
import { decideSequences } from './sequence-count.ts'
import { StepGate } from './step-gate.ts'

/**
 * Without --max-model-len: every sequence keeps this much memory ready, so the training length (often 128k) is no
 * default.
 */
const defaultContextLength = 4096

/** What is computed on a card before the first request. */
const firstPromptTokens = 32

export interface LlamaModelOptions {
  readonly file: string
  readonly name: string
  readonly companions: ModelCompanions
  readonly maxModelLen: number | undefined
  readonly threads: number
  /** Whether real cards may be used, where there is a build for them. */
  readonly gpu: boolean
  readonly gpuMemoryUtilization: number | undefined
  /** Requests that compute together; as many as memory allows unless set. */
  readonly sequences: number | undefined
  /** Requests that may wait for a sequence. */
  readonly waitingLimit: number
  readonly log: Logger
  readonly onProgress: (fraction: number) => void
  /** Told what it computes on, before anything is loaded. */
  readonly onBackend: (gpu: boolean) => void
  readonly signal: AbortSignal
}

/**
 * Loads a GGUF file through llama.cpp: as much of it as fits onto the cards, where there are some, the rest on the CPU.
 */
export async function loadLlamaModel(options: LlamaModelOptions): Promise<LanguageModel> {
  const { llama, confirm } = await openLlama(options)
  options.onBackend(llama.gpu !== false)
  try {
    const model = await llama.loadModel({
      modelPath: options.file,
      gpuLayers: llama.gpu === false ? 0 : 'auto',
      loadSignal: options.signal,
      onLoadProgress: options.onProgress,
    })
    const contextLength = decideContextLength(options.maxModelLen, model.trainContextSize)
    const sequences = await chooseSequences(llama, model, contextLength, options.sequences)
    const context = await model.createContext({
      sequences,
      contextSize: contextLength,
      threads: options.threads,
      flashAttention: 'auto',
      createSignal: options.signal,
    })
    const gate = new StepGate()
    const slots = Array.from({ length: sequences }, (_, order) => ({ sequence: context.getSequence(), gate, order }))
    const template = createChatTemplate(model, options.companions.chatTemplate, options.log)
    options.log.info({ sequences, contextLength }, 'the contexts are ready')
    const { samplingDefaults } = options.companions
    const { name, threads, waitingLimit } = options
    const asked = { name, threads, waitingLimit, samplingDefaults }
    const parts = { llama, model, slots, template, contextLength, ...asked }
    const languageModel = new LlamaLanguageModel(parts)
    await computeOnce(parts, languageModel, options.signal)
    await confirm()
    return languageModel
  } catch (error) {
    await llama.dispose()
    throw asStartFailure(error)
  }
}

/**
 * A model that was loaded has not computed yet: whether it can shows with its first token, before anybody is told it
 * can answer.
 */
async function computeOnce(parts: LoadedParts, languageModel: LanguageModel, signal: AbortSignal): Promise<void> {
  const { llama, model, slots } = parts
  const token = model.tokens.bos ?? toToken(0)
  // A model that pools its tokens into a vector has no next token.
  if (model.fileInfo.architectureMetadata.pooling_type !== undefined) {
    await languageModel.embed([[token]], signal)
    return
  }
  // On a card a prompt takes other kernels than a token after it, and the driver may have to compile both.
  const prompts = llama.gpu === false ? [1] : [firstPromptTokens, 1]
  for (const { sequence } of slots.slice(0, 1)) {
    for (const length of prompts) {
      const answer = sequence.evaluate(Array.from({ length }, () => token))
      await answer.next()
      await answer.return()
      signal.throwIfAborted()
    }
    await sequence.clearHistory()
  }
}

async function chooseSequences(
  llama: Llama,
  model: LlamaModel,
  contextSize: number,
  asked: number | undefined,
): Promise<number> {
  const { gpuLayers: modelGpuLayers } = model
  const estimate = (sequences: number) =>
    model.fileInsights.estimateContextResourceRequirementsV2({ contextSize, sequences, modelGpuLayers })
  const [one, two] = await Promise.all([estimate(1), estimate(2)])
  // Contexts are where the model is; what is left of the cards' memory once it is loaded is theirs.
  if (modelGpuLayers > 0) {
    const { free } = await llama.getVramState()
    return decideSequences({ asked, bytesPerSequence: two.gpuVram - one.gpuVram, availableBytes: free })
  }
  const bytesPerSequence = two.cpuRam - one.cpuRam
  return decideSequences({ asked, bytesPerSequence, availableBytes: process.availableMemory() })
}

export function decideContextLength(maxModelLen: number | undefined, trainedLength: number): number {
  if (maxModelLen !== undefined && maxModelLen > trainedLength) {
    throw new SluiceError('engine_start_failed', {
      reason: `--max-model-len is ${maxModelLen}, but the model was trained on ${trainedLength} tokens.`,
    })
  }
  return maxModelLen ?? Math.min(trainedLength, defaultContextLength)
}

function asStartFailure(error: unknown): Error {
  if (error instanceof SluiceError) return error
  return new SluiceError('engine_start_failed', { reason: errorMessage(error) }, { cause: error })
}
