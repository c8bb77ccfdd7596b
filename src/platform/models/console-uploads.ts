import { constants } from 'node:fs'
import { type FileHandle, chmod, cp, mkdir, mkdtemp, open, readdir, rename, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { ModelUpload, ModelUploads } from '../../management/console/console-world.ts'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'
import { modelDirectory, modelPathInClaim } from './model-storage.ts'

const magic = Buffer.from('GGUF')
/** What a machine needs to go on with when a model has filled the rest of its disk. */
const spareBytes = 2 ** 30

interface ExpectedFile {
  readonly name: string
  readonly bytes: number
}

/**
 * Takes files of models into a data directory. They are gathered where no Pod sees them, and appear as a whole. What a
 * program that was killed had gathered is removed by the next one.
 */
export class ConsoleUploads implements ModelUploads {
  readonly #dataDirectory: string
  readonly #gathering: string
  readonly #swept: Promise<unknown>

  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory
    this.#gathering = join(dataDirectory, 'uploads')
    // If that fails, making a place in it does, and says why.
    this.#swept = rm(this.#gathering, { recursive: true, force: true }).catch(() => undefined)
  }

  async begin(name: string, files: readonly ExpectedFile[]): Promise<ModelUpload> {
    await this.#swept
    const target = modelDirectory(this.#dataDirectory, name)
    if ((await readdir(target).catch(() => [])).length > 0) {
      const reason = `there are files in ${modelPathInClaim(name)} of the claim ${userDataClaim} already. Choose another name, or add that folder.`
      throw notTaken(reason)
    }
    await mkdir(this.#gathering, { recursive: true, mode: 0o700 })
    await this.#requireRoom(files)
    const folder = await mkdtemp(join(this.#gathering, `${name}-`))
    return new GatheredModel({ name, files, folder, target })
  }

  async #requireRoom(files: readonly ExpectedFile[]): Promise<void> {
    const needed = files.reduce((sum, { bytes }) => sum + bytes, 0)
    const { bavail, bsize } = await statfs(this.#gathering)
    const free = Math.max(0, bavail * bsize - spareBytes)
    if (needed > free) throw notTaken(`they have ${gibibytes(needed)}, and there is room for ${gibibytes(free)}.`)
  }
}

interface Gathering {
  readonly name: string
  readonly files: readonly ExpectedFile[]
  readonly folder: string
  readonly target: string
}

class GatheredModel implements ModelUpload {
  readonly totalBytes: number
  readonly #gathering: Gathering
  readonly #received: Map<string, number>
  #isPlaced = false

  constructor(gathering: Gathering) {
    this.#gathering = gathering
    this.totalBytes = gathering.files.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#received = new Map(gathering.files.map(({ name }) => [name, 0]))
  }

  received(): ReadonlyMap<string, number> {
    return this.#received
  }

  isWhole(): boolean {
    return this.#gathering.files.every(({ name, bytes }) => this.#received.get(name) === bytes)
  }

  async write(file: string, at: number, bytes: AsyncIterable<unknown>, signal: AbortSignal): Promise<void> {
    const expected = this.#gathering.files.find(({ name }) => name === file)
    if (!expected) throw new SluiceError('console_object_missing', { what: 'file of this upload', name: file })
    const there = this.#received.get(file) ?? 0
    if (at !== there) throw new SluiceError('upload_at', { file, bytes: there })
    const handle = await this.#open(file)
    try {
      for await (const part of bytes) {
        signal.throwIfAborted()
        if (Buffer.isBuffer(part)) await this.#add(handle, expected, part)
      }
    } finally {
      await handle.close()
    }
  }

  async finish(): Promise<string> {
    const { name, files, folder, target } = this.#gathering
    // Also those of which no byte came, since they have none.
    for (const file of files) await this.#settle(file.name)
    await mkdir(dirname(target), { recursive: true })
    try {
      await moveFolder(folder, target)
    } catch (error) {
      throw notTaken(errorMessage(error), error)
    }
    this.#isPlaced = true
    return `pvc://${userDataClaim}/${modelPathInClaim(name)}`
  }

  async discard(): Promise<void> {
    const { folder, target } = this.#gathering
    await rm(folder, { recursive: true, force: true })
    if (this.#isPlaced) await rm(target, { recursive: true, force: true })
  }

  async #add(handle: FileHandle, { name, bytes }: ExpectedFile, part: Buffer): Promise<void> {
    const there = this.#received.get(name) ?? 0
    if (there + part.length > bytes) throw notTaken(`${name} has more than the ${bytes} bytes that were announced.`)
    if (there < magic.length && isGguf(name) && !continuesMagic(part, there)) throw notTaken(`${name} is no GGUF file.`)
    try {
      await writeWhole(handle, part, there)
    } catch (error) {
      throw notTaken(errorMessage(error), error)
    }
    this.#received.set(name, there + part.length)
  }

  #open(file: string): Promise<FileHandle> {
    const path = join(this.#gathering.folder, file)
    // Engines may run as anybody, and only read it.
    return open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o644)
  }

  async #settle(file: string): Promise<void> {
    const handle = await this.#open(file)
    try {
      await handle.chmod(0o644)
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
}

/** In one step, where both are on one disk; else by a copy that appears in one step. */
async function moveFolder(from: string, to: string): Promise<void> {
  await chmod(from, 0o755)
  try {
    await rename(from, to)
  } catch (error) {
    if (!isCode(error, 'EXDEV')) throw error
    const copy = await mkdtemp(join(dirname(to), '.uploaded-'))
    try {
      await cp(from, copy, { recursive: true, mode: constants.COPYFILE_FICLONE })
      await rename(copy, to)
    } finally {
      await rm(copy, { recursive: true, force: true })
    }
    await rm(from, { recursive: true, force: true })
  }
}

async function writeWhole(handle: FileHandle, part: Buffer, at: number): Promise<void> {
  for (let done = 0; done < part.length;) {
    done += (await handle.write(part, done, part.length - done, at + done)).bytesWritten
  }
}

function continuesMagic(part: Buffer, there: number): boolean {
  const begin = part.subarray(0, magic.length - there)
  return begin.equals(magic.subarray(there, there + begin.length))
}

function isGguf(file: string): boolean {
  return /\.gguf$/i.test(file)
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`
}

function notTaken(reason: string, cause?: unknown): SluiceError {
  return new SluiceError('model_not_taken', { reason }, { cause })
}
