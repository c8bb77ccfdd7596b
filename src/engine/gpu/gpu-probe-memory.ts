import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'

/** One per set of cards and start of the machine. */
const rememberedLimit = 64

const remembered = z.array(z.object({ circumstances: z.string(), build: z.string() }))

/**
 * With which build a model has computed under the same circumstances: a proof takes seconds, at every wake of a model.
 * What is remembered is taken out when it is used and comes back once the model has computed: a process that a build
 * aborts leaves nothing behind, and the next one asks for a proof.
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
    // What cannot be taken out would be used again after an abort.
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

  /** Several models may start at once: whoever writes last wins, and the others' cards are proved once more. */
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

/** What Pods are given to share, or the user's cache folder: the HOME of a Pod is its own and goes with it. */
export function gpuCacheFolder(environment: NodeJS.ProcessEnv): string {
  const given = environment['SLUICE_GPU_CACHE']
  if (given !== undefined && given !== '') return given
  return join(environment['XDG_CACHE_HOME'] || join(homeOfUser(environment), '.cache'), 'sluice', 'gpu')
}

function homeOfUser(environment: NodeJS.ProcessEnv): string {
  try {
    return userInfo().homedir
  } catch {
    // A user without an entry in the machine's list, as in some containers.
    return environment['HOME'] ?? '/nonexistent'
  }
}

/**
 * Everything that decides whether a build computes: the machine's start, its driver and libraries, the builds, the
 * cards.
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
