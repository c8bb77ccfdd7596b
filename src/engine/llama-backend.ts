import { type Llama, LlamaLogLevel, NoBinaryFoundError, getLlama } from 'node-llama-cpp'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'

export interface LlamaBackendOptions {
  readonly threads: number
  readonly gpu: boolean
  /** The share of the cards' memory that may be used. */
  readonly gpuMemoryUtilization: number | undefined
  readonly log: Logger
}

/** In the order of preference; both are packages that `npm run gpu-binaries` adds. */
const gpuBackends = ['cuda', 'vulkan'] as const

/** Opens llama.cpp on the machine's cards where a build for them is installed and works, else on the CPU. */
export async function openLlama(options: LlamaBackendOptions): Promise<Llama> {
  for (const backend of options.gpu ? gpuBackends : []) {
    if (!(await isInstalled(backend))) continue
    try {
      const llama = await open(backend, options)
      options.log.info({ backend, cards: await llama.getGpuDeviceNames() }, 'computing on the GPU')
      return llama
    } catch (error) {
      const reason = error instanceof NoBinaryFoundError ? 'its libraries cannot be loaded here' : errorMessage(error)
      options.log.warn({ backend, reason }, 'the GPU build of llama.cpp does not work on this machine')
    }
  }
  try {
    return await open(false, options)
  } catch (error) {
    const reason =
      error instanceof NoBinaryFoundError
        ? `llama.cpp's binaries for ${process.platform}-${process.arch} are not installed. Install again with optional dependencies.`
        : errorMessage(error)
    throw new SluiceError('engine_start_failed', { reason }, { cause: error })
  }
}

/** Only the binaries that were installed are used: nothing is ever compiled or downloaded at run time. */
function open(gpu: (typeof gpuBackends)[number] | false, options: LlamaBackendOptions): Promise<Llama> {
  const { gpuMemoryUtilization: share, threads, log } = options
  return getLlama({
    gpu,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    maxThreads: threads,
    ...(share === undefined ? {} : { vramPadding: (total: number) => total * (1 - share) }),
    logLevel: LlamaLogLevel.warn,
    logger: (level, message) => {
      const write = level === LlamaLogLevel.error || level === LlamaLogLevel.fatal ? 'error' : 'debug'
      log[write]({ from: 'llama.cpp' }, message.trim())
    },
  })
}

/** In the place of a build that was not asked for stands an empty package. */
async function isInstalled(backend: string): Promise<boolean> {
  try {
    const build: unknown = await import(`@node-llama-cpp/${process.platform}-${process.arch}-${backend}`)
    return typeof build === 'object' && build !== null && 'getBinsDir' in build
  } catch {
    return false
  }
}
