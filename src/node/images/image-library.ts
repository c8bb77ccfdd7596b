import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { type Clock, abortReason, systemClock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { ArchiveFault } from './tar/archive-fault.ts'
import { openImageSource, readImages } from './archives/archive-opening.ts'
import { digestText } from './archives/digest.ts'
import { withLock } from './file-lock.ts'
import { ImageFolders, type Staging } from './image-folders.ts'
import { type ImageRecord, ImageIndex, syncFolder } from './image-index.ts'
import type { ImageDescription } from './archives/image-description.ts'
import { configSchema, readDocument } from './archives/image-documents.ts'
import { type ImagePlatform, machinePlatform, platformText } from './archives/image-platform.ts'
import { parseReference, referenceName } from './image-reference.ts'
import type { ImageSource } from './archives/image-source.ts'
import { type UnpackedImage, unpackImage } from './roots/image-unpack.ts'
import { type UnpackLimits, usualLimits } from './tar/unpack-budget.ts'

export interface ImportOptions {
  /** An archive, a folder with an OCI layout, or `-` for standard input. */
  readonly path: string
  /** The name to use instead of those in the archive. */
  readonly name?: string | undefined
  /** Chooses one of several images in an OCI layout. */
  readonly ref?: string | undefined
  readonly platform?: ImagePlatform | undefined
  readonly limits?: UnpackLimits
  readonly signal: AbortSignal
}

export interface ImportedImage {
  readonly record: ImageRecord
  /** `undefined` if its files were already here. */
  readonly unpacked: UnpackedImage | undefined
}

export interface ImageLibraryOptions {
  /** `<data>/images` */
  readonly folder: string
  readonly clock?: Clock
  /** Called before each step, so that tests can kill the process there. */
  readonly onStep?: (step: string) => void
  /** Makes sure the files are on disk before a name refers to them. */
  readonly sync?: (folder: string, signal: AbortSignal) => Promise<void>
}

interface PreparedImage {
  readonly image: ImageDescription
  readonly names: readonly string[]
  unpacked: (UnpackedImage & { readonly folder: string }) | undefined
}

const lockDeadlineMs = 30_000
const mostTries = 3

/**
 * The images of this machine. Several processes may use the folder at the same time, and one that is killed leaves
 * nothing that is ever used.
 */
export class ImageLibrary {
  readonly #folders: ImageFolders
  readonly #index: ImageIndex
  readonly #clock: Clock
  readonly #onStep: (step: string) => void
  readonly #sync: (folder: string, signal: AbortSignal) => Promise<void>

  constructor({ folder, clock = systemClock, onStep = () => {}, sync = syncFiles }: ImageLibraryOptions) {
    this.#sync = sync
    this.#folders = new ImageFolders(folder)
    this.#index = new ImageIndex(this.#folders.index)
    this.#clock = clock
    this.#onStep = onStep
  }

  list(): readonly ImageRecord[] {
    return this.#index.read()
  }

  /** Imports all images of an archive, or none. */
  async import(options: ImportOptions): Promise<readonly ImportedImage[]> {
    const { path, platform = machinePlatform(), limits = usualLimits, signal } = options
    this.#folders.make()
    await this.collect(signal)
    const staging = await this.#locked(signal, () => this.#folders.beginStaging())
    this.#onStep('staging')
    try {
      const source = await openImageSource(path, { staging: staging.folder, limits, signal })
      try {
        const images = await readImages(source, platform, options.ref)
        const prepared = images.map((image): PreparedImage => ({
          image,
          names: namesFor(image, images, options),
          unpacked: undefined,
        }))
        return await this.#take(source, prepared, staging, { limits, signal })
      } finally {
        await source.close()
      }
    } catch (error) {
      throw signal.aborted ? abortReason(signal) : asImportError(error, path)
    } finally {
      // If this fails, the next command tries again.
      await this.#folders.endStaging(staging).catch(() => {})
    }
  }

  /** Removes a name, or for `sha256:…` all names of an image. Its files stay while a container uses them. */
  async remove(
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly removed: readonly ImageRecord[]; readonly inUse: boolean }> {
    this.#folders.make()
    const reference = parseReference(name)
    const wanted = reference ? referenceName(reference) : name
    const removed = await this.#locked(signal, () => {
      const all = this.#index.read()
      const going = all.filter((record) => record.name === wanted || record.id === name)
      if (going.length > 0) this.#index.write(all.filter((record) => !going.includes(record)))
      return going
    })
    const [first] = removed
    if (!first) throw new SluiceError('image_not_found', { name })
    this.#onStep('unnamed')
    await this.collect(signal)
    return { removed, inUse: !this.#isNamed(first.id) && this.#folders.hasRoot(first.id) }
  }

  /** Removes images without a name and without a container, and what killed imports left behind. */
  async collect(signal: AbortSignal): Promise<void> {
    this.#folders.make()
    const leftovers = await this.#locked(signal, () => this.#folders.giveUp((id) => this.#isNamed(id)))
    for (const leftover of leftovers) await this.#folders.endStaging(leftover)
  }

  async #take(
    source: ImageSource,
    prepared: readonly PreparedImage[],
    staging: Staging,
    { limits, signal }: { readonly limits: UnpackLimits; readonly signal: AbortSignal },
  ): Promise<readonly ImportedImage[]> {
    for (let attempt = 1; attempt <= mostTries; attempt += 1) {
      for (const [index, one] of prepared.entries()) {
        if (one.unpacked || this.#folders.hasRoot(digestText(one.image.id))) continue
        const folder = join(staging.folder, `root-${attempt}-${index}`)
        one.unpacked = {
          folder,
          ...(await unpackImage(source, one.image, folder, { limits, signal, onStep: this.#onStep })),
        }
      }
      this.#onStep('sync')
      await this.#sync(staging.folder, signal)
      this.#onStep('commit')
      const taken = await this.#locked(signal, () => this.#commit(prepared))
      if (taken) return taken
    }
    throw new SluiceError('images_busy', { path: this.#folders.base, seconds: Math.round(lockDeadlineMs / 1000) })
  }

  /** Call with the lock held. `undefined` if a root that was already here has been removed in the meantime. */
  #commit(prepared: readonly PreparedImage[]): readonly ImportedImage[] | undefined {
    // Finishes removals that a killed process had begun, so that they are not in the way.
    this.#folders.giveUp((id) => this.#isNamed(id)).forEach(({ lock }) => lock.release())
    if (prepared.some(({ image, unpacked }) => !unpacked && !this.#folders.hasRoot(digestText(image.id))))
      return undefined
    const all = this.#index.read()
    const taken: ImportedImage[] = []
    for (const { image, names, unpacked } of prepared) {
      const id = digestText(image.id)
      const isThere = this.#folders.hasRoot(id)
      if (!isThere && unpacked) {
        this.#folders.place(unpacked.folder, id, image.config)
        this.#onStep('placed')
      }
      const bytes = unpacked?.bytes ?? all.find((record) => record.id === id)?.bytes ?? 0
      const records = names.map((name) => recordOf(image, name, bytes, this.#clock.now()))
      taken.push(...records.map((record) => ({ record, unpacked: isThere ? undefined : unpacked })))
    }
    syncFolder(join(this.#folders.base, 'roots'))
    // If several images have the same name, the last one gets it.
    const now = new Map(taken.map((one) => [one.record.name, one]))
    this.#index.write([...all.filter(({ name }) => !now.has(name)), ...[...now.values()].map(({ record }) => record)])
    this.#onStep('named')
    return [...now.values()]
  }

  #isNamed(id: string): boolean {
    return this.#index.read().some((record) => record.id === id)
  }

  #locked<T>(signal: AbortSignal, work: () => T): Promise<T> {
    return withLock(this.#folders.lock, { clock: this.#clock, signal, deadlineMs: lockDeadlineMs }, work)
  }
}

function namesFor(
  image: ImageDescription,
  all: readonly ImageDescription[],
  { name }: ImportOptions,
): readonly string[] {
  if (name !== undefined && all.length > 1)
    throw new ArchiveFault('it has several images, and --name can only be that of one (--ref chooses one)')
  const given = name === undefined ? image.names : [name]
  if (given.length === 0) throw new ArchiveFault('it does not say what the image is called; name it with --name')
  const names = given.map((text) => {
    const reference = parseReference(text)
    if (!reference || reference.tag === undefined) {
      throw new ArchiveFault(`${JSON.stringify(text.slice(0, 300))} cannot be the name of an image with a tag`)
    }
    return referenceName({ ...reference, digest: undefined })
  })
  return [...new Set(names)]
}

function recordOf(image: ImageDescription, name: string, bytes: number, now: number): ImageRecord {
  const { created } = readDocument(configSchema, image.config, "the image's configuration")
  const facts = { name, id: digestText(image.id), digests: [...image.digests], platform: platformText(image.platform) }
  const importedAt = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  return { ...facts, ...(created ? { created } : {}), importedAt, bytes }
}

/**
 * Syncs the whole file system at once, which is many times faster than each file. If that fails, the kernel writes the
 * files in its own time.
 */
function syncFiles(folder: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    execFile('sync', ['-f', folder], { signal, timeout: 600_000 }, () => resolve())
  })
}

function asImportError(error: unknown, file: string): unknown {
  if (error instanceof ArchiveFault)
    return new SluiceError('image_refused', { file, reason: error.message }, { cause: error })
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const place = error instanceof Error && 'path' in error ? String(error.path) : ''
  const reasons: Record<string, string> = {
    ...(place === file ? { ENOENT: 'there is no such file' } : {}),
    EACCES: `${place} is not open to this user`,
    EPERM: `${place} is not open to this user`,
    EROFS: `${place} is on a disk that is for reading only`,
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk is full',
  }
  const reason = reasons[code]
  return reason === undefined ? error : new SluiceError('image_refused', { file, reason }, { cause: error })
}
