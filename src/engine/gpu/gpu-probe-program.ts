// A program that gpu-probe.ts starts; it is never imported. It computes with one GPU build of llama.cpp and tells its
// parent that it worked, or fails and says why.
import { join } from 'node:path'
import { errorMessage } from '../../foundation/errors.ts'
import { openGpuBuild } from './card-backend.ts'
import type { LlamaAddon, NativeContext, NativeModel } from '../llama/native/llama-addon.ts'
import { writeTinyModel } from '../models/tiny-model.ts'
import { installedGpuBuilds, loadingError, requireGpuBuild } from './gpu-probe-builds.ts'

/** Enough tokens that the matrices are multiplied by the GPU library, as for any real prompt. */
const promptTokens = 48
const contextTokens = 256
const allLayers = 1_000

async function compute(buildName: string, folder: string): Promise<void> {
  const file = join(folder, 'model.gguf')
  await writeTinyModel(file)
  const addon = await openBuild(buildName)
  const model = new addon.AddonModel(file, { addonExports: addon, gpuLayers: allLayers, useMmap: true })
  const sizes = { contextSize: contextTokens, sequences: 1, batchSize: contextTokens, threads: 1 }
  const context = new addon.AddonContext(model, { ...sizes, flashAttention: 'auto' })
  if (!(await model.init()) || !(await context.init())) throw new Error('a small model cannot be loaded')
  const prompt = Array.from({ length: promptTokens }, (_, index) => 10 + index)
  const token = await next({ addon, model, context }, 0, prompt)
  await next({ addon, model, context }, promptTokens, [token])
}

async function openBuild(name: string): Promise<LlamaAddon> {
  const build = installedGpuBuilds().find((installed) => installed.name === requireGpuBuild(name).name)
  try {
    if (!build) throw new Error('it is not installed')
    return await openGpuBuild(build, undefined)
  } catch (error) {
    const reason = loadingError(requireGpuBuild(name)) ?? errorMessage(error)
    throw new Error(`it cannot be loaded here: ${reason}`, { cause: error })
  }
}

interface Parts {
  readonly addon: LlamaAddon
  readonly model: NativeModel
  readonly context: NativeContext
}

async function next({ addon, model, context }: Parts, position: number, tokens: readonly number[]): Promise<number> {
  const sampler = new addon.AddonSampler(model)
  sampler.applyConfig({ temperature: 0, topK: 40, topP: 1, minP: 0, seed: 0 })
  context.initBatch(tokens.length)
  const [at = 0] = context.addToBatch(0, position, Uint32Array.from(tokens), Uint32Array.of(tokens.length - 1))
  await context.decodeBatch()
  return context.sampleToken(at, sampler)
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
