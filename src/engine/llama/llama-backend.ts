import { join } from 'node:path'
import { type Llama, LlamaLogLevel, type LlamaOptions, NoBinaryFoundError, getLlama } from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { chooseGpuBuild, probeGpuBuild } from '../gpu/gpu-probe.ts'
import { type GpuBuild, installedGpuBuilds, useGpuBuild } from '../gpu/gpu-probe-builds.ts'
import { GpuProbeMemory, gpuCacheFolder, gpuCircumstances } from '../gpu/gpu-probe-memory.ts'

export interface LlamaBackendOptions {
  readonly threads: number
  readonly gpu: boolean
  /** The share of the cards' memory that may be used. */
  readonly gpuMemoryUtilization: number | undefined
  readonly log: Logger
  readonly signal: AbortSignal
}

export interface LlamaBackend {
  readonly llama: Llama
  /** To be called once a model has computed with this backend. */
  readonly confirm: () => Promise<void>
}

/** Opens llama.cpp on the machine's cards if a build for them is installed and has computed there, else on the CPU. */
export async function openLlama(options: LlamaBackendOptions): Promise<LlamaBackend> {
  return (options.gpu ? await openOnCards(options) : undefined) ?? openOnCpu(options)
}

async function openOnCards(options: LlamaBackendOptions): Promise<LlamaBackend | undefined> {
  const { log, signal } = options
  const builds = await installedGpuBuilds()
  if (builds.length === 0) return undefined
  const cache = gpuCacheFolder(process.env)
  // The driver takes most of a minute to compile kernels for a card. By default it keeps them in HOME, which is lost
  // with the Pod.
  process.env['CUDA_CACHE_PATH'] ??= join(cache, 'kernels')
  const circumstances = await gpuCircumstances(
    builds.map(({ folder }) => folder),
    process.env,
  )
  const memory = new GpuProbeMemory(join(cache, 'proofs.json'), circumstances)
  const remembered = await memory.take()
  const build = await chooseGpuBuild({ builds, remembered, prove: (name) => probeGpuBuild(name, signal), log })
  if (!build) return undefined
  try {
    const llama = await openGpuBuild(build, settings(options))
    log.info({ build: build.name, cards: await llama.getGpuDeviceNames() }, 'computing on the GPU')
    return { llama, confirm: () => memory.keep(build.name) }
  } catch (error) {
    log.warn({ build: build.name, reason: errorMessage(error) }, 'the GPU build of llama.cpp cannot be opened')
    return undefined
  }
}

async function openOnCpu(options: LlamaBackendOptions): Promise<LlamaBackend> {
  try {
    return { llama: await open(false, settings(options)), confirm: async () => {} }
  } catch (error) {
    const reason =
      error instanceof NoBinaryFoundError
        ? `llama.cpp's binaries for ${process.platform}-${process.arch} are not installed. Install again with optional dependencies.`
        : errorMessage(error)
    throw new SluiceError('engine_start_failed', { reason }, { cause: error })
  }
}

export function openGpuBuild(build: GpuBuild, settings: LlamaOptions): Promise<Llama> {
  useGpuBuild(build)
  return open(build.gpu, settings)
}

/** Uses only binaries that are installed: nothing is compiled or downloaded at run time. */
function open(gpu: GpuBuild['gpu'] | false, settings: LlamaOptions): Promise<Llama> {
  return getLlama({ ...settings, gpu, build: 'never', skipDownload: true, progressLogs: false })
}

function settings({ gpuMemoryUtilization: share, threads, log }: LlamaBackendOptions): LlamaOptions {
  return {
    maxThreads: threads,
    ...(share === undefined ? {} : { vramPadding: (total: number) => total * (1 - share) }),
    logLevel: LlamaLogLevel.warn,
    logger: (level, message) => {
      const write = level === LlamaLogLevel.error || level === LlamaLogLevel.fatal ? 'error' : 'debug'
      log[write]({ from: 'llama.cpp' }, message.trim())
    },
  }
}
