import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { engineCacheFolder } from '../cache-folder.ts'

/** How many results are kept: one per set of cards and boot of the machine. */
const rememberedLimit = 64

const remembered = z.array(z.object({ circumstances: z.string(), build: z.string() }))

/**
 * Remembers which build has computed under the same circumstances, because proving it takes seconds at every wake of a
 * model. An entry is removed when it is used, and written back once the model has computed. So if a build aborts the
 * process, nothing is left of it, and the next process asks for a new proof.
 */
export class GpuProbeMemory {
  readonly #file: string
  readonly #circumstances: string

  constructor(file: string, circumstances: string) {
    this.#file = file
    this.#circumstances = circumstances
  }

  async take(): Promise<string | undefined> {
    const all = await this.#read()
    const found = all.find((entry) => entry.circumstances === this.#circumstances)
    if (!found) return undefined
    // If the entry cannot be removed it must not be used: after an abort it would be used again.
    const taken = await this.#write(all.filter((entry) => entry !== found))
    return taken ? found.build : undefined
  }

  async keep(build: string): Promise<void> {
    const others = (await this.#read()).filter((entry) => entry.circumstances !== this.#circumstances)
    await this.#write([...others, { circumstances: this.#circumstances, build }].slice(-rememberedLimit))
  }

  async #read(): Promise<z.infer<typeof remembered>> {
    try {
      return remembered.parse(JSON.parse(await readFile(this.#file, 'utf8')))
    } catch {
      return []
    }
  }

  /** Several models may start at once. The last one to write wins; the cards of the others are probed once more. */
  async #write(entries: z.infer<typeof remembered>): Promise<boolean> {
    const draft = `${this.#file}.${randomUUID()}`
    try {
      await mkdir(dirname(this.#file), { recursive: true })
      await writeFile(draft, JSON.stringify(entries))
      await rename(draft, this.#file)
      return true
    } catch {
      await rm(draft, { force: true }).catch(() => {})
      return false
    }
  }
}

export function gpuCacheFolder(environment: NodeJS.ProcessEnv): string {
  return engineCacheFolder(environment, 'SLUICE_GPU_CACHE', 'gpu')
}

/**
 * A digest of everything that decides whether a build works: the boot of the machine, its driver and libraries, the
 * installed builds and the visible cards.
 */
export async function gpuCircumstances(folders: readonly string[], environment: NodeJS.ProcessEnv): Promise<string> {
  const parts = [
    await textOf('/proc/sys/kernel/random/boot_id'),
    await textOf('/proc/driver/nvidia/version'),
    await changeOf('/etc/ld.so.cache'),
    ...folders,
    ...['LD_LIBRARY_PATH', 'CUDA_VISIBLE_DEVICES', 'NVIDIA_VISIBLE_DEVICES'].map((name) => environment[name] ?? ''),
  ]
  return createHash('sha256').update(parts.join('\0')).digest('hex')
}

async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

async function changeOf(path: string): Promise<string> {
  return stat(path).then(
    ({ mtimeMs }) => String(mtimeMs),
    () => '',
  )
}
