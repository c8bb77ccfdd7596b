import type { Logger } from '../../foundation/log.ts'
import { type GpuFit, fitOnCards, usualMemoryShare } from '../gpu/gpu-fit.ts'
import { installedGpuBuilds } from '../gpu/gpu-probe-builds.ts'
import type { LoadProgress } from '../loading/load-progress.ts'
import { type GgufHeader, readGgufHeader } from '../models/gguf-header.ts'
import { decideContextLength, defaultContextLength, largestStep } from './context-limits.ts'
import { openLlama } from './llama-backend.ts'
import { loadNativeModel } from './native/loaded-model.ts'
import type { LlamaBackend, NativeModel } from './native/llama-addon.ts'
import { usualSequences } from './sequence-count.ts'
import { asStartFailure } from './start-failure.ts'

export interface LlamaWeightsOptions {
  readonly file: string
  readonly maxModelLen: number | undefined
  readonly threads: number
  /** Whether real cards may be used, if there is a build for them. */
  readonly gpu: boolean
  readonly gpuMemoryUtilization: number | undefined
  /** How many requests are computed together; unless set, as many as memory allows. */
  readonly sequences: number | undefined
  readonly log: Logger
  readonly progress: Pick<LoadProgress, 'enter' | 'placed'>
  /** Called with whether it computes on a GPU, before anything is loaded. */
  readonly onBackend: (gpu: boolean) => void
  /**
   * Called when other work no longer delays the reading: llama.cpp has begun it in threads of its own, or cards are
   * looked at first, which takes longer than anything else.
   */
  readonly onReading: () => void
  readonly signal: AbortSignal
}

/** A model file in llama.cpp's memory, and what is known about it. */
export interface LlamaWeights {
  readonly backend: LlamaBackend
  readonly native: NativeModel
  readonly header: GgufHeader
  /** How it fits on the cards, if there are any. */
  readonly fit: GpuFit | undefined
}

/**
 * Opens llama.cpp and lets it read a file in threads of its own. As much of it as fits is put on the cards, if there
 * are any. It takes longer than everything else before the first answer, so a start begins with it, and this module
 * imports little.
 */
export async function loadWeights(options: LlamaWeightsOptions): Promise<LlamaWeights> {
  const builds = options.gpu ? installedGpuBuilds() : []
  if (builds.length > 0) options.onReading()
  const backend = await openLlama(builds, options)
  options.onBackend(backend.gpu)
  try {
    const known = backend.gpu ? await readGgufHeader(options.file) : undefined
    const fit = known && (await fitToCards(backend, options, known))
    options.progress.enter('reading')
    const loading = loadNativeModel({
      addon: backend.addon,
      file: options.file,
      gpuLayers: fit?.layers ?? 0,
      onProgress: (fraction) => options.progress.placed(fraction),
      signal: options.signal,
    })
    options.onReading()
    // Of a file that is no model, the header's reader says more than llama.cpp.
    const reading = known ? Promise.resolve(known) : readGgufHeader(options.file)
    const [header, native] = await bothSettled(reading, loading)
    options.progress.enter('preparing')
    return { backend, native, header, fit }
  } catch (error) {
    await backend.addon.dispose()
    throw asStartFailure(error)
  }
}

/** Waits for both, even if one fails: llama.cpp must not be closed while it works. */
export async function bothSettled<First, Second>(
  first: Promise<First>,
  second: Promise<Second>,
): Promise<[First, Second]> {
  await Promise.allSettled([first, second])
  return [await first, await second]
}

function fitToCards({ addon }: LlamaBackend, options: LlamaWeightsOptions, header: GgufHeader): Promise<GpuFit> {
  const layers = (header.number(`${header.architecture}.block_count`) ?? 0) + 1
  const trained = header.number(`${header.architecture}.context_length`) ?? defaultContextLength
  const contextLength = decideContextLength(options.maxModelLen, trained)
  const memoryShare = options.gpuMemoryUtilization ?? usualMemoryShare
  const batchSize = largestStep(options.sequences ?? usualSequences)
  return fitOnCards({
    addon,
    file: options.file,
    layers,
    contextLength,
    batchSize,
    threads: options.threads,
    memoryShare,
  })
}
