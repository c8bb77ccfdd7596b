import { createHash, randomUUID } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { copyFile, mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import type { ModelFile } from './model-address.ts'

/** Scratch folders and parts of this age belong to a pull that nobody will continue. */
const abandonedAfterMs = 7 * 24 * 60 * 60 * 1000

const record = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) })

/**
 * The models on this machine, each stored once under its checksum. Files are renamed into place when they are complete
 * and verified, so that several pulls at once never see each other's unfinished files.
 */
export class ModelCache {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  async prepare(now: number): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    await this.#removeAbandoned(now)
  }

  pathOf(sha256: string): string {
    return join(this.#directory, `${sha256}.gguf`)
  }

  /**
   * The checksum of a file if it is in the cache. The checksum is the required one, or the one that its address led to
   * before.
   */
  async find(file: ModelFile, signal: AbortSignal): Promise<string | undefined> {
    const sha256 = file.sha256 ?? (await this.#recorded(file))
    if (sha256 === undefined) return undefined
    const path = this.pathOf(sha256)
    return (await isVerified(path, sha256, file.bytes, signal)) ? sha256 : undefined
  }

  /** Makes the checksum of a file be computed again before the file is used. */
  async distrust(sha256: string): Promise<void> {
    await rm(markerOf(this.pathOf(sha256)), { force: true })
  }

  /** Where the part of a file that has arrived is kept until the rest follows. */
  partOf(file: ModelFile): string {
    return join(this.#directory, `.part-${keyOf(file)}`)
  }

  lockOf(file: ModelFile): string {
    return join(this.#directory, `.lock-${keyOf(file)}`)
  }

  /** Creates a folder for one attempt, on the same disk as the cache. */
  async scratch(): Promise<string> {
    const folder = join(this.#directory, `.pull-${randomUUID()}`)
    await mkdir(folder)
    return folder
  }

  /** Moves a downloaded file into the cache if it is the right one. Returns its checksum. */
  async admit(path: string, file: ModelFile, signal: AbortSignal): Promise<string> {
    const actual = await sha256Of(path, signal)
    if (file.sha256 !== undefined && actual !== file.sha256) {
      throw new SluiceError('checksum_mismatch', { file: file.fileName, actual, expected: file.sha256 })
    }
    // Without an expected checksum, an error page could pass for a model.
    if (file.sha256 === undefined && !(await beginsLikeGguf(path))) throw new Error('what came is not a GGUF file')
    await rename(path, this.pathOf(actual))
    await isVerified(this.pathOf(actual), actual, file.bytes, signal)
    return actual
  }

  /** Records which file an address led to, so that the next pull finds it here without asking any server. */
  async remember(file: ModelFile, sha256: string): Promise<void> {
    await writeFile(this.#recordOf(file), JSON.stringify({ sha256, sources: file.sources }))
  }

  #recordOf(file: ModelFile): string {
    return join(this.#directory, `${keyOf(file)}.address.json`)
  }

  async #recorded(file: ModelFile): Promise<string | undefined> {
    const text = await readFile(this.#recordOf(file), 'utf8').catch(() => undefined)
    if (text === undefined) return undefined
    try {
      return record.parse(JSON.parse(text)).sha256
    } catch {
      return undefined
    }
  }

  async #removeAbandoned(now: number): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      if (!name.startsWith('.pull-') && !name.startsWith('.part-')) continue
      const path = join(this.#directory, name)
      const info = await stat(path).catch(() => undefined)
      if (info && now - info.mtimeMs > abandonedAfterMs) await rm(path, { recursive: true, force: true })
    }
  }
}

/** A key for the addresses of a file, independent of its content. */
function keyOf(file: ModelFile): string {
  return createHash('sha256')
    .update(JSON.stringify([file.fileName, file.sources]))
    .digest('hex')
    .slice(0, 32)
}

async function beginsLikeGguf(path: string): Promise<boolean> {
  const handle = await open(path)
  try {
    const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    return buffer.toString('latin1') === 'GGUF'
  } finally {
    await handle.close()
  }
}

/**
 * Puts a copy of a file at `target`. The copy shares its blocks where the disk supports that, but it is never the
 * cached file itself: Pods may write to it, and the other clusters of this machine must not see that. The target
 * becomes whole and verified, or stays as it was.
 */
export async function placeFile(source: string, target: string, sha256: string, signal: AbortSignal): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  const [from, to] = await Promise.all([stat(source), stat(target).catch(() => undefined)])
  const isLink = to?.ino === from.ino && to.dev === from.dev
  if (!isLink && to?.size === from.size && (await sha256Of(target, signal)) === sha256) return
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}`)
  try {
    await copyFile(source, temporary, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
    const actual = await sha256Of(temporary, signal)
    if (actual !== sha256)
      throw new SluiceError('checksum_mismatch', { file: basename(target), actual, expected: sha256 })
    await rename(temporary, target)
  } finally {
    await rm(temporary, { force: true })
  }
}

/**
 * Whether a file is the model with this checksum. A marker file remembers the result as long as size and modification
 * time of the file stay the same.
 */
async function isVerified(
  file: string,
  sha256: string,
  bytes: number | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const info = await stat(file).catch(() => undefined)
  if (!info?.isFile() || (bytes !== undefined && info.size !== bytes)) return false
  // A file with further hard links, as former versions made them, can be changed through these, so its marker is not
  // trusted.
  const isAlone = info.nlink === 1
  const marker = markerOf(file)
  const stamp = `${sha256} ${info.size} ${info.mtimeMs}`
  if (isAlone && (await readFile(marker, 'utf8').catch(() => '')) === stamp) return true
  if ((await sha256Of(file, signal)) !== sha256) return false
  await writeFile(marker, stamp)
  return true
}

function markerOf(file: string): string {
  return `${file}.verified`
}

export async function sha256Of(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file, { highWaterMark: 1024 * 1024 }), hash, { signal })
  return hash.digest('hex')
}
