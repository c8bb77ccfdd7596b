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
 * Used without --max-model-len. Every sequence keeps memory for its whole context, so the training length (often 128k)
 * would be too much.
 */
const defaultContextLength = 4096

/** How long a prompt is computed on a card before the first request. */
const firstPromptTokens = 32

export interface LlamaModelOptions {
  readonly file: string
  readonly name: string
  readonly companions: ModelCompanions
  readonly maxModelLen: number | undefined
  readonly threads: number
  /** Whether real cards may be used, if there is a build for them. */
  readonly gpu: boolean
  readonly gpuMemoryUtilization: number | undefined
  /** How many requests are computed together; unless set, as many as memory allows. */
  readonly sequences: number | undefined
  /** How many requests may wait for a sequence. */
  readonly waitingLimit: number
  readonly log: Logger
  readonly onProgress: (fraction: number) => void
  /** Called with whether it computes on a GPU, before anything is loaded. */
  readonly onBackend: (gpu: boolean) => void
  readonly signal: AbortSignal
}

/**
 * Loads a GGUF file with llama.cpp. As much of it as fits is put on the cards, if there are any, and the rest is
 * computed on the CPU.
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
 * Computes a first token. Only that shows whether a loaded model can compute, and it must be known before anybody is
 * told that the model is ready.
 */
async function computeOnce(parts: LoadedParts, languageModel: LanguageModel, signal: AbortSignal): Promise<void> {
  const { llama, model, slots } = parts
  const token = model.tokens.bos ?? toToken(0)
  // A model that pools its tokens into a vector generates no tokens.
  if (model.fileInfo.architectureMetadata.pooling_type !== undefined) {
    await languageModel.embed([[token]], signal)
    return
  }
  // On a card, prompts and single tokens use different kernels, and the driver may have to compile both.
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
  // Contexts are on the same device as the model and may use the cards' memory that is free once it is loaded.
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
