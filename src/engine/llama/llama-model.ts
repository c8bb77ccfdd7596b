import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { GpuFit } from '../gpu/gpu-fit.ts'
import type { GgufHeader } from '../models/gguf-header.ts'
import { chooseSampling, type ModelCompanions } from '../models/model-companions.ts'
import { createChatTemplate } from '../templates/chat-template.ts'
import { loadTemplateLibrary } from '../templates/template-library.ts'
import { decideContextLength, largestStep } from './context-limits.ts'
import { letGoOfCopiedFiles } from './memory/copied-files.ts'
import { giveBackAtRest } from './memory/freed-memory.ts'
import { computeFirst } from './first-computation.ts'
import type { LanguageModel } from './language-model.ts'
import { LlamaLanguageModel, type LoadedParts } from './llama-language-model.ts'
import { type LlamaWeights, bothSettled } from './llama-weights.ts'
import { Computing } from './native/computing.ts'
import { bytesPerToken, smallestShape } from './native/context-shape.ts'
import { GrowingContext } from './native/growing-context.ts'
import { LoadedModel } from './native/loaded-model.ts'
import { Sequence } from './native/sequence.ts'
import { type StepThreads, fixedThreads } from './native/step-threads.ts'
import type { KeptOpenings } from './openings/kept-openings.ts'
import { decideSequences } from './sequence-count.ts'
import { asStartFailure } from './start-failure.ts'

export interface LlamaModelOptions {
  /** Its weights, being loaded. */
  readonly weights: Promise<LlamaWeights>
  readonly file: string
  readonly name: string
  readonly companions: ModelCompanions
  readonly maxModelLen: number | undefined
  readonly threads: number
  /** What is on cards is computed there, so this is of the CPU. */
  readonly stepThreads: StepThreads
  readonly sequences: number | undefined
  /** How many requests may wait for a sequence. */
  readonly waitingLimit: number
  /** Where what is computed of templates' openings is kept; undefined if it is not. */
  readonly openings: KeptOpenings | undefined
  readonly log: Logger
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Makes a model that answers of weights. What is not on cards is computed on the CPU. */
export async function loadLlamaModel(options: LlamaModelOptions): Promise<LanguageModel> {
  // Made ready while llama.cpp reads.
  const library = loadTemplateLibrary()
  library.catch(() => {})
  const { backend, native, header, fit } = await options.weights
  try {
    const model = new LoadedModel(backend.addon, native, header)
    const { companions, file, log } = options
    // llama.cpp makes the context in a thread, too.
    const opening = openContexts(model, fit, options)
    const templating = library.then((parts) => createChatTemplate(model, file, companions.chatTemplate, parts, log))
    const [parts, template] = await bothSettled(opening, templating)
    const languageModel = new LlamaLanguageModel({ ...parts, template })
    const { gpu, binary } = backend
    const { openings, signal } = options
    const kept = openings && { openings, model: file, binary }
    await computeFirst({ ...parts, sequence: parts.firstSequence, template, languageModel, gpu, kept, signal })
    await backend.confirm()
    giveBackAtRest(languageModel, log)
    letGoOfCopiedFiles({ file, languageModel, isOnCards: isOnCards(fit), log })
    return languageModel
  } catch (error) {
    await backend.addon.dispose()
    throw asStartFailure(error)
  }
}

type ContextParts = Omit<LoadedParts, 'template'>

async function openContexts(
  model: LoadedModel,
  fit: GpuFit | undefined,
  options: LlamaModelOptions,
): Promise<ContextParts> {
  const { threads, log, clock, name, waitingLimit } = options
  const contextLength = decideContextLength(options.maxModelLen, model.trainedLength)
  const sequences = chooseSequences(model.header, fit, contextLength, options.sequences)
  const most = { sequences, length: contextLength }
  const batchSize = largestStep(sequences)
  // On cards nothing is gained by waiting: their memory is held for this model anyway.
  const first = isOnCards(fit) ? most : smallestShape(most)
  const context = await GrowingContext.open({ model, threads, batchSize, first, most, log })
  const stepThreads = isOnCards(fit) ? fixedThreads(threads) : options.stepThreads
  const computing = new Computing(context, batchSize, stepThreads)
  log.info({ sequences, contextLength }, 'the contexts are ready')
  const samplingDefaults = chooseSampling(options.companions.sampling, model.header)
  const parts = { model, context, computing, sequences, contextLength, clock, name, threads, stepThreads, waitingLimit }
  return { ...parts, firstSequence: new Sequence(), samplingDefaults }
}

function chooseSequences(
  header: GgufHeader,
  fit: GpuFit | undefined,
  contextLength: number,
  asked: number | undefined,
): number {
  // Contexts are on the same device as the model and may use the cards' memory that is free once it is loaded.
  if (isOnCards(fit)) {
    const { bytesPerContext, bytesLeft } = fit
    return decideSequences({ asked, bytesPerSequence: bytesPerContext, availableBytes: bytesLeft + bytesPerContext })
  }
  const bytesPerSequence = bytesPerToken(header) * contextLength
  return decideSequences({ asked, bytesPerSequence, availableBytes: process.availableMemory() })
}

function isOnCards(fit: GpuFit | undefined): fit is GpuFit {
  return fit !== undefined && fit.layers > 0
}
