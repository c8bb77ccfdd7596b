import { pullModel } from '../../engine/models/model-pull.ts'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'
import type { FetchStatus } from '../claims/claim-files.ts'
import { modelCacheDirectory, modelDirectory, modelPathInClaim } from './model-storage.ts'

const firstRetryMs = 30_000
const longestRetryMs = 600_000

export interface DemoModelFetchOptions {
  readonly name: string
  readonly dataDirectory: string
  readonly clock: Clock
  readonly log: Logger
}

/** Fetches the demo model's file into the claim in the background, and tries again until it is there. */
export class DemoModelFetch {
  readonly #options: DemoModelFetchOptions
  readonly #stop = new AbortController()
  #status: { message: string; pending: boolean } | undefined
  #running: Promise<void> | undefined

  constructor(options: DemoModelFetchOptions) {
    this.#options = options
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
    const { name, clock, log } = this.#options
    for (let delayMs = firstRetryMs; !this.#stop.signal.aborted; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      try {
        await this.#fetch()
        this.#status = undefined
        return
      } catch (error) {
        if (this.#stop.signal.aborted) return
        this.#status = { message: errorMessage(error), pending: false }
        log.warn({ model: name, retryInMs: delayMs, err: error }, 'the demo model could not be fetched')
      }
      await clock.sleep(delayMs, this.#stop.signal).catch(() => {})
    }
  }

  async #fetch(): Promise<void> {
    const { name, dataDirectory, log } = this.#options
    await pullModel({
      name,
      into: modelDirectory(dataDirectory, name),
      cacheDirectory: modelCacheDirectory(),
      signal: this.#stop.signal,
      log,
      onProgress: ({ bytes, totalBytes }) => {
        const percent = totalBytes > 0 ? Math.floor((bytes / totalBytes) * 100) : 0
        this.#status = { message: `fetching ${name}, ${percent} %`, pending: true }
      },
    })
  }
}
