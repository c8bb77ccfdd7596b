import { availableParallelism } from 'node:os'
import { SluiceError } from '../foundation/errors.ts'
import { type CardEnvironment, cardsNamed } from './gpu/card-environment.ts'

/** The flags of `sluice serve`, named as vLLM names them. */
export interface ServeOptions {
  /**
   * A `.gguf` file, or a directory with one model in it. Requests name the model by this path, exactly as it was given.
   */
  readonly modelPath: string
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly servedModelName?: string | undefined
  readonly tensorParallelSize?: number | undefined
  readonly gpuMemoryUtilization?: number | undefined
  readonly numSchedulerSteps?: number | undefined
  readonly maxModelLen?: number | undefined
  /** How many requests are computed together. Unless set, as many as memory allows, up to 8. */
  readonly maxNumSeqs?: number | undefined
  readonly trustRemoteCode?: boolean | undefined
  /** The key that requests must carry as a Bearer token. Unless set, the environment's, if there is one. */
  readonly apiKey?: string | undefined
  /** How many threads compute; `defaultThreads()` unless set. */
  readonly threads?: number | undefined
}

/**
 * All cores but one. With a thread on every core of a busy machine, generation fell from tens of tokens per second to
 * one, because llama.cpp's threads wait for each other at every layer.
 */
export function defaultThreads(cores = availableParallelism()): number {
  return Math.max(1, cores - 1)
}

/** How many cards this process was given. Without any, the CPU counts as one. */
export function cardsGiven(environment: CardEnvironment): number {
  return Math.max(1, cardsNamed(environment)?.length ?? 1)
}

/** Throws for a flag that the engine cannot honour. */
export function checkServeOptions(options: ServeOptions, environment: CardEnvironment): void {
  requireInteger('--port', options.port, 0, 65_535)
  requireInteger('--tensor-parallel-size', options.tensorParallelSize, 1, Number.MAX_SAFE_INTEGER)
  requireInteger('--num-scheduler-steps', options.numSchedulerSteps, 1, Number.MAX_SAFE_INTEGER)
  requireInteger('--max-model-len', options.maxModelLen, 16, Number.MAX_SAFE_INTEGER)
  requireInteger('--max-num-seqs', options.maxNumSeqs, 1, 256)
  requireInteger('--threads', options.threads, 1, 1024)
  const utilization = options.gpuMemoryUtilization
  if (utilization !== undefined && !(utilization > 0 && utilization <= 1)) {
    throw new SluiceError('invalid_flag', { flag: '--gpu-memory-utilization', reason: 'must be above 0 and at most 1' })
  }
  const cards = cardsGiven(environment)
  if (options.tensorParallelSize !== undefined && options.tensorParallelSize !== cards) {
    throw new SluiceError('engine_start_failed', {
      reason: `--tensor-parallel-size is ${options.tensorParallelSize}, but the engine was given ${cards} ${cards === 1 ? 'card' : 'cards'}; the two must be equal.`,
    })
  }
}

/** Flags that have no effect here. The log names them once, so that nobody tunes them in vain. */
export function flagsWithoutEffect(options: ServeOptions, onGpu: boolean): string[] {
  return [
    ...(options.gpuMemoryUtilization === undefined || onGpu ? [] : ['--gpu-memory-utilization']),
    ...(options.numSchedulerSteps === undefined ? [] : ['--num-scheduler-steps']),
    ...(options.trustRemoteCode ? ['--trust-remote-code'] : []),
  ]
}

function requireInteger(flag: string, value: number | undefined, least: number, most: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least && value <= most)) return
  const range = most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `from ${least} to ${most}`
  throw new SluiceError('invalid_flag', { flag, reason: `must be a whole number, ${range}` })
}
