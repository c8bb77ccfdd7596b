// Started by gpu-probe.ts, never imported: computes with one GPU build of llama.cpp and tells its parent, or fails and
// says why.
import { join } from 'node:path'
import { LlamaLogLevel, NoBinaryFoundError } from 'node-llama-cpp'
import { errorMessage } from '../../foundation/errors.ts'
import { loadingError, requireGpuBuild } from './gpu-probe-builds.ts'
import { openGpuBuild } from '../llama/llama-backend.ts'
import { toToken } from '../requests/sampling-options.ts'
import { writeTinyModel } from '../models/tiny-model.ts'

/** Enough that the matrices are multiplied by the library for it, as with any real prompt. */
const promptTokens = 48

async function compute(buildName: string, folder: string): Promise<void> {
  const build = requireGpuBuild(buildName)
  const modelPath = join(folder, 'model.gguf')
  await writeTinyModel(modelPath)
  try {
    // Without a logger of ours, llama.cpp's own words are written before an abort and not lost with it.
    const llama = await openGpuBuild(build, { debug: true, logLevel: LlamaLogLevel.error })
    const model = await llama.loadModel({ modelPath, gpuLayers: 'max' })
    const context = await model.createContext({ contextSize: 128, flashAttention: 'auto' })
    const prompt = Array.from({ length: promptTokens }, (_, index) => toToken(10 + index))
    let generated = 0
    for await (const _token of context.getSequence().evaluate(prompt)) {
      generated += 1
      if (generated === 2) break
    }
  } catch (error) {
    if (error instanceof NoBinaryFoundError) {
      const reason = (await loadingError(build)) ?? 'no card was found'
      throw new Error(`it cannot be loaded here: ${reason}`, { cause: error })
    }
    throw error
  }
}

// Nobody waits for the answer any more.
process.once('disconnect', () => process.exit())
const [build = '', folder = ''] = process.argv.slice(2)
try {
  await compute(build, folder)
  process.send?.('computed')
} catch (error) {
  console.error(`error: ${errorMessage(error)}`)
  process.exit(1)
}
