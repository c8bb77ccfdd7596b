import type { LlamaAddon } from '../llama/native/llama-addon.ts'

export interface GpuFitOptions {
  readonly addon: LlamaAddon
  readonly file: string
  /** All of the model, in layers. */
  readonly layers: number
  /** Of one request. */
  readonly contextLength: number
  readonly batchSize: number
  readonly threads: number
  /** The share of the cards' memory that may be used. */
  readonly memoryShare: number
}

export interface GpuFit {
  readonly layers: number
  /** Of the cards' memory, what is left for further contexts beside the model and one context. */
  readonly bytesLeft: number
  /** What one context takes on the cards. */
  readonly bytesPerContext: number
}

/** What is kept free unless a share is given: the driver and other programs need some. */
export const usualMemoryShare = 0.92

/** How much of a model fits on the cards with one context: all of it, or as many layers as there is memory for. */
export async function fitOnCards(options: GpuFitOptions): Promise<GpuFit> {
  const { total, used } = options.addon.getGpuVramInfo()
  const budget = Math.max(0, total * options.memoryShare - used)
  const measured = async (layers: number) => {
    const { model, context } = await measure(options, layers)
    return { layers, bytesLeft: budget - model - context, bytesPerContext: context }
  }
  const whole = await measured(options.layers)
  if (whole.bytesLeft >= 0) return whole
  let fits = { layers: 0, bytesLeft: budget, bytesPerContext: 0 }
  let [low, high] = [0, options.layers]
  while (high - low > 1) {
    const tried = await measured(Math.floor((low + high) / 2))
    if (tried.bytesLeft >= 0) {
      fits = tried
      low = tried.layers
    } else high = tried.layers
  }
  return fits
}

/** Asks llama.cpp what it would take, without reserving anything. */
async function measure(
  { addon, file, contextLength, batchSize, threads }: GpuFitOptions,
  gpuLayers: number,
): Promise<{ readonly model: number; readonly context: number }> {
  const model = new addon.AddonModel(file, { addonExports: addon, gpuLayers, useMmap: false, noAlloc: true })
  try {
    if (!(await model.init())) throw new Error('the model cannot be measured')
    const context = new addon.AddonContext(model, {
      contextSize: contextLength,
      sequences: 1,
      batchSize,
      threads,
      flashAttention: 'auto',
    })
    try {
      if (!(await context.init())) throw new Error('a context cannot be measured')
      return { model: model.getMemoryBreakdown().gpuVram, context: context.getMemoryBreakdown().gpuVram }
    } finally {
      await context.dispose()
    }
  } finally {
    await model.dispose()
  }
}
