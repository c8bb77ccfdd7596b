import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { AccessCheck, accessKeyOf, type KeyEnvironment } from './http/access-key.ts'
import { type CardEnvironment, mayUseGpu } from './gpu/card-environment.ts'
import { EngineState } from './engine-state.ts'
import type { LanguageModel } from './llama/language-model.ts'
import { type LlamaWeights, loadWeights } from './llama/llama-weights.ts'
import { readCoreUse } from './llama/native/core-use.ts'
import { SpareCoreThreads, type StepThreads, fixedThreads } from './llama/native/step-threads.ts'
import { readFileReads } from './loading/file-reads.ts'
import { LoadProgress } from './loading/load-progress.ts'
import { tellLoading } from './loading/tell-loading.ts'
import { findModelFile, modelBytes } from './models/model-file.ts'
import { type ServeOptions, checkServeOptions, defaultThreads, flagsWithoutEffect } from './serve-options.ts'

export type { ServeOptions }

/** How many requests may wait while others are computed. */
const waitingLimit = 64
/**
 * Longer than any proxy in front keeps an idle connection open, so that the engine never closes it just as a request
 * arrives.
 */
const keepAliveMs = 75_000
/** After an abort a request ends with its next token; this is the deadline for one that does not. */
const abortDeadlineMs = 5_000

export interface EngineSurroundings {
  readonly log: Logger
  readonly clock?: Clock
  /** Aborting it gives up loading the model. Requests are ended only by `stop`. */
  readonly signal?: AbortSignal
  readonly environment?: CardEnvironment & KeyEnvironment
  /** The folder where what is computed of templates' openings is kept; without it, each start computes it. */
  readonly openings?: string
}

export interface RunningEngine {
  readonly address: { readonly host: string; readonly port: number; readonly url: string }
  /** Resolves when the model can answer; rejects when it cannot be loaded. */
  readonly ready: Promise<void>
  /** Accepts no new requests, lets the running ones finish within the grace period, then ends them. */
  stop(graceMs: number): Promise<void>
}

/** Runs `sluice serve`. The port answers at once, while the model is still being loaded. */
export async function startEngine(options: ServeOptions, surroundings: EngineSurroundings): Promise<RunningEngine> {
  const environment = surroundings.environment ?? process.env
  checkServeOptions(options, environment)
  const file = await findModelFile(options.modelPath)
  const { log, clock = systemClock } = surroundings
  const progress = new LoadProgress({ totalBytes: await modelBytes(file), clock, reads: readFileReads })
  const abort = new AbortController()
  const signal = AbortSignal.any([abort.signal, ...(surroundings.signal ? [surroundings.signal] : [])])
  const threads = options.threads ?? defaultThreads()
  const stepThreads = chooseStepThreads(options, threads)
  const startedAt = clock.now()
  const reading = Promise.withResolvers<void>()
  const weights = loadWeights({
    file,
    maxModelLen: options.maxModelLen,
    threads,
    sequences: options.maxNumSeqs,
    log,
    gpu: mayUseGpu(environment),
    gpuMemoryUtilization: options.gpuMemoryUtilization,
    progress,
    onBackend: (gpu) => {
      const flags = flagsWithoutEffect(options, gpu)
      if (flags.length > 0) log.info({ flags }, 'flags accepted, without effect here')
    },
    onReading: reading.resolve,
    signal,
  })
  // Whoever needs them waits for them below, or has failed before.
  const failed = weights.catch(() => {})
  await Promise.race([reading.promise, failed])
  try {
    const { openings } = surroundings
    const shared = { log, clock, progress, abort, signal, threads, stepThreads, startedAt, environment, openings }
    return await openEngine(options, { file, weights, ...shared })
  } catch (error) {
    abort.abort(new SluiceError('stopping'))
    const loaded = await weights.catch(() => undefined)
    await loaded?.backend.addon.dispose()
    throw error
  }
}

interface EngineParts {
  readonly file: string
  readonly weights: Promise<LlamaWeights>
  readonly log: Logger
  readonly clock: Clock
  readonly progress: LoadProgress
  readonly abort: AbortController
  /** Ends the loading, when the engine is stopped or whoever started it gives up. */
  readonly signal: AbortSignal
  readonly threads: number
  readonly stepThreads: StepThreads
  readonly startedAt: number
  readonly environment: KeyEnvironment
  readonly openings: string | undefined
}

async function openEngine(options: ServeOptions, parts: EngineParts): Promise<RunningEngine> {
  const { file, weights, log, clock, progress, abort, signal, threads, startedAt } = parts
  // Only now, while llama.cpp reads the weights: importing these takes a fifth of the time until the first token.
  const [{ createHttpFace }, { EngineMetrics }, { loadLlamaModel }, { KeptOpenings }, { readModelCompanions }] =
    await Promise.all([
      import('./http/http-face.ts'),
      import('./engine-metrics.ts'),
      import('./llama/llama-model.ts'),
      import('./llama/openings/kept-openings.ts'),
      import('./models/model-companions.ts'),
    ])
  const companions = await readModelCompanions(file)
  const name = options.servedModelName ?? options.modelPath
  const state = new EngineState(name, () => progress.report())
  const key = accessKeyOf(options.apiKey, parts.environment)
  const face = createHttpFace({
    access: key === undefined ? undefined : new AccessCheck(key),
    state,
    metrics: new EngineMetrics(name),
    clock,
    log,
    modelPath: options.modelPath,
    abort: abort.signal,
  })
  const server = createServer({ keepAliveTimeout: keepAliveMs }, face)
  const address = await listen(server, options.host, options.port)

  log.info({ model: name, file, threads, url: address.url }, 'loading the model')
  const loading = loadLlamaModel({
    weights,
    file,
    name,
    companions,
    maxModelLen: options.maxModelLen,
    threads,
    stepThreads: parts.stepThreads,
    sequences: options.maxNumSeqs,
    waitingLimit,
    openings: parts.openings === undefined ? undefined : new KeptOpenings(parts.openings, log),
    log,
    clock,
    signal,
  })
  const endTelling = tellLoading(progress, clock, log)
  const ready = loading.finally(endTelling).then(
    (model) => {
      state.loaded(model)
      const seconds = (clock.now() - startedAt) / 1000
      log.info({ model: name, seconds, contextLength: model.contextLength }, 'the model can answer')
    },
    (error: unknown) => {
      state.loadFailed(error)
      throw signal.aborted ? new SluiceError('stopping') : error
    },
  )
  // The caller may wait for `ready` later or never, so a failure must not count as unhandled.
  ready.catch(() => {})

  let stopped: Promise<void> | undefined
  const stop = (graceMs: number) => {
    stopped ??= stopEngine({ state, server, loading, abort, clock, graceMs })
    return stopped
  }
  return { address, ready, stop }
}

async function stopEngine(parts: {
  state: EngineState
  server: Server
  loading: Promise<LanguageModel>
  abort: AbortController
  clock: Clock
  graceMs: number
}): Promise<void> {
  const { state, server, loading, abort, clock, graceMs } = parts
  state.stopping()
  await within(clock, graceMs, state.idle())
  abort.abort(new SluiceError('stopping'))
  await within(clock, abortDeadlineMs, state.idle())
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
  server.closeAllConnections()
  await closed
  const model = await loading.catch(() => undefined)
  await model?.dispose()
}

/** Waits for a promise, but no longer than `ms`. */
async function within(clock: Clock, ms: number, promise: Promise<void>): Promise<void> {
  let cancel = () => {}
  const deadline = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve)
  })
  await Promise.race([promise, deadline])
  cancel()
}

function listen(server: Server, host: string, port: number): Promise<RunningEngine['address']> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = { name: 'engine', host, port, flag: '--port' }
      const reason = `${host}:${port} cannot be listened on: ${error.message}`
      reject(
        error.code === 'EADDRINUSE'
          ? new SluiceError('port_in_use', taken)
          : new SluiceError('engine_start_failed', { reason }),
      )
    })
    server.listen(port, host, () => resolve(addressOf(server.address(), host)))
  })
}

function addressOf(bound: AddressInfo | string | null, host: string): RunningEngine['address'] {
  if (bound === null || typeof bound === 'string') throw new SluiceError('internal_error')
  const shown = host.includes(':') ? `[${host}]` : host
  return { host, port: bound.port, url: `http://${shown}:${bound.port}` }
}

/** As many as somebody asked for; else as many as cores are free at the time. */
function chooseStepThreads(options: ServeOptions, threads: number): StepThreads {
  if (options.threads !== undefined) return fixedThreads(threads)
  return new SpareCoreThreads({ cores: availableParallelism(), threads, read: readCoreUse })
}
