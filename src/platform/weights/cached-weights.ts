import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { FileLock } from '../../node/images/file-lock.ts'
import { WeightsChanged, copyWeights } from './copy-weights.ts'
import { WeightsFolder } from './weights-folder.ts'
import { type WeightsManifest, type WeightsSource, readManifest } from './weights-manifest.ts'
import type { WeightsSteps } from './weights-steps.ts'

export interface WeightsProgress {
  readonly phase: 'copying' | 'waiting for another Pod that copies the same'
  readonly copiedBytes: number
  readonly bytes: number
}

export interface CachedWeightsOptions extends WeightsSteps {
  readonly source: WeightsSource
  readonly cacheFolder: string
  /** What the folder may hold, in bytes. */
  readonly size: number
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onProgress: (progress: WeightsProgress) => void
}

export interface CachedWeights {
  /** Where the files are: in the cache, or in the claim where that was not possible. */
  readonly folder: string
  readonly manifest: WeightsManifest
  /** Why they are not in the cache. */
  readonly uncached?: string
  /** Until then nobody removes them. */
  release(): void
}

const askAgainMs = 250
const mostAttempts = 4

/**
 * The files of a Model from the node's own disk, copied there if they are not. Whatever goes wrong with the cache, the
 * Model can still be read from its claim.
 */
export async function cachedWeights(options: CachedWeightsOptions): Promise<CachedWeights> {
  let manifest = readManifest(options.source)
  const uncached = (why: string) => ({ folder: manifest.folder, manifest, uncached: why, release: () => {} })
  try {
    if (manifest.bytes > options.size) {
      return uncached(`its ${manifest.bytes} bytes are more than the cache may hold, ${options.size}`)
    }
    const folder = new WeightsFolder(options.cacheFolder, options.size, options)
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      try {
        const lock = await use(folder, manifest, options)
        if (lock === 'no room') return uncached('what others use leaves no room in the cache')
        if (lock) return { folder: folder.filesOf(manifest.key), manifest, release: () => lock.release() }
      } catch (error) {
        if (!(error instanceof WeightsChanged)) throw error
        manifest = readManifest(options.source)
      }
    }
    return uncached('its files change while they are being copied')
  } catch (error) {
    options.signal.throwIfAborted()
    return uncached(errorMessage(error))
  }
}

/** `undefined`: it has to be tried again. */
async function use(
  folder: WeightsFolder,
  manifest: WeightsManifest,
  options: CachedWeightsOptions,
): Promise<FileLock | 'no room' | undefined> {
  const { clock, signal, step, onProgress } = options
  const { key, bytes } = manifest
  for (;;) {
    signal.throwIfAborted()
    const shared = folder.tryShare(key)
    if (shared) {
      if (await folder.isComplete(manifest)) {
        folder.markUsed(key)
        step?.('held')
        return shared
      }
      shared.release()
    }
    const alone = folder.tryAlone(key)
    if (alone) return fetch(folder, manifest, alone, options)
    const phase = 'waiting for another Pod that copies the same'
    onProgress({ phase, copiedBytes: folder.copiedBytes(key), bytes })
    await clock.sleep(askAgainMs, signal)
  }
}

/** Afterwards the entry is to be used like any other: somebody may have been faster, or need the room. */
async function fetch(
  folder: WeightsFolder,
  manifest: WeightsManifest,
  lock: FileLock,
  { clock, signal, step, onProgress }: CachedWeightsOptions,
): Promise<'no room' | undefined> {
  try {
    if (await folder.isComplete(manifest)) return undefined
    step?.('locked')
    let reserved = folder.tryReserve(manifest)
    for (; reserved === undefined; reserved = folder.tryReserve(manifest)) await clock.sleep(askAgainMs, signal)
    if (!reserved) return 'no room'
    step?.('reserved')
    let copiedBytes = 0
    await copyWeights(manifest, folder.incomingOf(manifest.key), {
      signal,
      step,
      onCopied: (more) => onProgress({ phase: 'copying', copiedBytes: (copiedBytes += more), bytes: manifest.bytes }),
    })
    step?.('copied')
    folder.publish(manifest)
    step?.('published')
    return undefined
  } catch (error) {
    // What was interrupted is continued by whoever comes next; what failed is in the way.
    if (!signal.aborted) folder.abandon(manifest)
    throw error
  } finally {
    lock.release()
  }
}
