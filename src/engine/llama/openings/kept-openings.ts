import { createHash, randomUUID } from 'node:crypto'
import { appendFile, mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'

/** How many files are kept: one per model and processor. */
const most = 16
const samples = 64
const sampleBytes = 4096
const digestBytes = 32

/**
 * What was computed of templates' openings, in files of llama.cpp's format. It is the same at every start of a model,
 * and without cards it takes longer than anything else before a first answer.
 */
export class KeptOpenings {
  readonly #folder: string
  readonly #log: Logger

  constructor(folder: string, log: Logger) {
    this.#folder = folder
    this.#log = log
  }

  /** Where the opening of a model is, or would be, as this processor and this binary of llama.cpp compute it. */
  async placeFor(model: string, binary: string): Promise<string | undefined> {
    try {
      const digest = createHash('sha256')
      digest.update(JSON.stringify([cpus()[0]?.model, process.arch, await changeOf(binary), await changeOf(model)]))
      await addSamples(digest, model)
      return join(this.#folder, digest.digest('hex'))
    } catch (error) {
      this.#log.debug({ reason: errorMessage(error) }, 'the opening of the model is not kept')
      return undefined
    }
  }

  /** Whether there is what was once kept. llama.cpp ends the whole process for a file that was cut off. */
  async has(place: string): Promise<boolean> {
    const bytes = await readFile(place).catch(() => undefined)
    if (bytes === undefined || bytes.length < digestBytes) return false
    const end = bytes.length - digestBytes
    return digestOf(bytes.subarray(0, end)).equals(bytes.subarray(end))
  }

  /** Keeps what `write` writes. A file is there wholly or not at all, even if the machine fails. */
  async keep(place: string, write: (draft: string) => Promise<void>): Promise<void> {
    const draft = `${place}.${randomUUID()}`
    try {
      await mkdir(this.#folder, { recursive: true })
      await write(draft)
      // llama.cpp reads no further than what it wrote.
      await appendFile(draft, digestOf(await readFile(draft)), { flush: true })
      await rename(draft, place)
      await this.#removeOldest()
    } catch (error) {
      this.#log.debug({ reason: errorMessage(error) }, 'the opening of the model is not kept')
      await rm(draft, { force: true }).catch(() => {})
    }
  }

  async #removeOldest(): Promise<void> {
    const names = await readdir(this.#folder)
    if (names.length <= most) return
    const dated = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name)
        return { path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 }
      }),
    )
    const old = dated.sort((a, b) => b.at - a.at).slice(most)
    await Promise.all(old.map(({ path }) => rm(path, { force: true })))
  }
}

function digestOf(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

async function changeOf(path: string): Promise<readonly number[]> {
  const { size, mtimeMs } = await stat(path)
  return [size, mtimeMs]
}

/** Of all parts of a file: a model that was trained further differs everywhere. */
async function addSamples(digest: ReturnType<typeof createHash>, file: string): Promise<void> {
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const buffer = Buffer.allocUnsafe(sampleBytes)
    for (let sample = 0; sample < samples; sample++) {
      const { bytesRead } = await handle.read(buffer, 0, sampleBytes, Math.floor((size / samples) * sample))
      digest.update(buffer.subarray(0, bytesRead))
    }
  } finally {
    await handle.close()
  }
}
