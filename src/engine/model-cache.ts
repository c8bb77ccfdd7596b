import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, link, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { SluiceError } from '../foundation/errors.ts'
import type { KnownModel } from './known-models.ts'

/** Scratch folders this old belong to a pull that was killed. */
const abandonedAfterMs = 24 * 60 * 60 * 1000

/**
 * The models of this machine, each stored once under its checksum. A file appears there whole and verified or not at
 * all (it is renamed into place), so several pulls at once never see each other's half-written files.
 */
export class ModelCache {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  pathOf(model: KnownModel): string {
    return join(this.#directory, `${model.sha256}.gguf`)
  }

  async has(model: KnownModel, signal: AbortSignal): Promise<boolean> {
    return isVerified(this.pathOf(model), `${this.pathOf(model)}.verified`, model, signal)
  }

  /** A folder of its own for one attempt, on the same disk as the cache. */
  async scratch(now: number): Promise<string> {
    await mkdir(this.#directory, { recursive: true })
    await this.#removeAbandoned(now)
    const folder = join(this.#directory, `.pull-${randomUUID()}`)
    await mkdir(folder)
    return folder
  }

  /** Takes a downloaded file in, if it is what it should be. */
  async admit(file: string, model: KnownModel, signal: AbortSignal): Promise<void> {
    const actual = await sha256Of(file, signal)
    if (actual !== model.sha256) {
      throw new SluiceError('checksum_mismatch', { file: model.fileName, actual, expected: model.sha256 })
    }
    await mkdir(this.#directory, { recursive: true })
    await rename(file, this.pathOf(model))
    await this.has(model, signal)
  }

  async #removeAbandoned(now: number): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      if (!name.startsWith('.pull-')) continue
      const path = join(this.#directory, name)
      const info = await stat(path).catch(() => undefined)
      if (info && now - info.mtimeMs > abandonedAfterMs) await rm(path, { recursive: true, force: true })
    }
  }
}

/** Puts a file at `target` by a hard link, or by a copy where the disk differs; the target is never half there. */
export async function placeFile(source: string, target: string, model: KnownModel, signal: AbortSignal): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  const [from, to] = await Promise.all([stat(source), stat(target).catch(() => undefined)])
  if (to && to.ino === from.ino && to.dev === from.dev) return
  if (to?.size === from.size && (await sha256Of(target, signal)) === model.sha256) return
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}`)
  try {
    await link(source, temporary).catch(() => copyFile(source, temporary))
    await rename(temporary, target)
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Whether a file is the model. The marker remembers a checksum once computed, for as long as the file is not touched. */
async function isVerified(file: string, marker: string, model: KnownModel, signal: AbortSignal): Promise<boolean> {
  const info = await stat(file).catch(() => undefined)
  if (!info?.isFile() || info.size !== model.bytes) return false
  const stamp = `${model.sha256} ${info.size} ${info.mtimeMs}`
  if ((await readFile(marker, 'utf8').catch(() => '')) === stamp) return true
  if ((await sha256Of(file, signal)) !== model.sha256) return false
  await writeFile(marker, stamp)
  return true
}

export async function sha256Of(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file, { highWaterMark: 1024 * 1024 }), hash, { signal })
  return hash.digest('hex')
}
