// A program that gpu-probe.ts starts; it is never imported. It computes with one GPU build of llama.cpp and tells its
// parent that it worked, or fails and says why.
import { join } from 'node:path'
import { LlamaLogLevel, NoBinaryFoundError } from 'node-llama-cpp'
import { errorMessage } from '../../foundation/errors.ts'
import { loadingError, requireGpuBuild } from './gpu-probe-builds.ts'
import { openGpuBuild } from '../llama/llama-backend.ts'
import { toToken } from '../requests/sampling-options.ts'
import { writeTinyModel } from '../models/tiny-model.ts'

/** Enough tokens that the matrices are multiplied by the GPU library, as for any real prompt. */
const promptTokens = 48

async function compute(buildName: string, folder: string): Promise<void> {
  const build = requireGpuBuild(buildName)
  const modelPath = join(folder, 'model.gguf')
  await writeTinyModel(modelPath)
  try {
    // Without a logger of ours llama.cpp writes its messages directly, so that the last ones before an abort are not
    // lost.
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

// The parent has gone: nobody waits for the result any more.
process.once('disconnect', () => process.exit())
const [build = '', folder = ''] = process.argv.slice(2)
try {
  await compute(build, folder)
  process.send?.('computed')
} catch (error) {
  console.error(`error: ${errorMessage(error)}`)
  process.exit(1)
}
