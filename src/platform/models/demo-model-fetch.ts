import { mkdir } from 'node:fs/promises'
import { pullModel } from '../../engine/models/model-pull.ts'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import { type LinkedSignal, linkSignals } from '../../foundation/linked-signal.ts'
import type { Logger } from '../../foundation/log.ts'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'
import { ClaimFiles, type FetchStatus } from '../claims/claim-files.ts'
import { modelCacheDirectory, modelDirectory, modelPathInClaim, volumesDirectory } from './model-storage.ts'

const firstRetryMs = 30_000
const longestRetryMs = 600_000
/** How soon a file is noticed that somebody puts there instead. */
const lookEveryMs = 1_000

const over = new Error('the model is there')

export interface DemoModelFetchOptions {
  readonly name: string
  readonly dataDirectory: string
  /** Tells whoever started this, in a sentence, that the fetch failed, and later that the file is there. */
  readonly tell: (message: string) => void
  readonly clock: Clock
  readonly log: Logger
  readonly pull?: typeof pullModel
}

/**
 * Fetches the demo model's file into the claim in the background, and tries again until it is there, whoever puts it
 * there.
 */
export class DemoModelFetch {
  readonly #options: DemoModelFetchOptions
  readonly #files: ClaimFiles
  readonly #stop = new AbortController()
  #status: { message: string; pending: boolean } | undefined
  #running: Promise<void> | undefined

  constructor(options: DemoModelFetchOptions) {
    this.#options = options
    this.#files = new ClaimFiles(volumesDirectory(options.dataDirectory))
  }

  /** For `ClaimFiles`: whether this path is being fetched, or why not. */
  readonly status: FetchStatus = (claim, path) =>
    claim === userDataClaim && path === modelPathInClaim(this.#options.name) ? this.#status : undefined

  start(): void {
    this.#status = { message: `fetching ${this.#options.name}`, pending: true }
    this.#running = this.#fetchUntilThere()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #fetchUntilThere(): Promise<void> {
    const { name, clock, tell } = this.#options
    // There from the beginning, for whoever reads where to put the file.
    await makeModelDirectory(this.#options)
    const isThere = linkSignals(this.#stop.signal)
    const looking = this.#abortWhenThere(isThere)
    let failures = 0
    while (!isThere.signal.aborted) {
      if ((await this.#isFetched(isThere.signal, failures)) || isThere.signal.aborted) break
      failures += 1
      const delayMs = Math.min(firstRetryMs * 2 ** (failures - 1), longestRetryMs)
      await clock.sleep(delayMs, isThere.signal).catch(() => {})
    }
    isThere.abort(over)
    await looking
    isThere.release()
    this.#status = undefined
    if (failures > 0 && !this.#stop.signal.aborted) tell(`The model ${name} is there now.`)
  }

  /** A file that somebody puts there is what they want: the fetch must not put a second one beside it. */
  async #abortWhenThere(isThere: LinkedSignal): Promise<void> {
    const { name, clock } = this.#options
    while (!isThere.signal.aborted) {
      if (this.#files.check(userDataClaim, modelPathInClaim(name), 'gguf').state === 'present') isThere.abort(over)
      else await clock.sleep(lookEveryMs, isThere.signal).catch(() => {})
    }
  }

  async #isFetched(signal: AbortSignal, failures: number): Promise<boolean> {
    const { name, tell, log } = this.#options
    try {
      await this.#fetch(signal)
      return true
    } catch (error) {
      if (signal.aborted) return false
      const message = errorMessage(error)
      this.#status = { message, pending: false }
      log.warn({ model: name, failures: failures + 1, err: error }, 'the demo model could not be fetched')
      if (failures === 0) tell(`${message} It is tried again meanwhile.`)
      return false
    }
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const { name, dataDirectory, log, pull = pullModel } = this.#options
    await pull({
      name,
      into: modelDirectory(dataDirectory, name),
      cacheDirectory: modelCacheDirectory(),
      signal,
      log,
      onProgress: ({ bytes, totalBytes }) => {
        const percent = totalBytes > 0 ? Math.floor((bytes / totalBytes) * 100) : 0
        this.#status = { message: `fetching ${name}, ${percent} %`, pending: true }
      },
    })
  }
}

async function makeModelDirectory({ name, dataDirectory, log }: DemoModelFetchOptions): Promise<void> {
  try {
    await mkdir(modelDirectory(dataDirectory, name), { recursive: true })
  } catch (error) {
    log.warn({ model: name, err: error }, 'the folder of the demo model could not be made')
  }
}
