import { pullModel } from '../../engine/models/model-pull.ts'
import { readModelAddress } from '../../engine/models/model-address.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { ModelPulls, PullTicket } from '../../management/console/console-world.ts'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'
import { modelCacheDirectory, modelDirectory, modelPathInClaim } from './model-storage.ts'

export interface ConsolePullsOptions {
  readonly dataDirectory: string
  readonly clock: Clock
  readonly log: Logger
}

/** Fetches models for the console, as `sluice model pull` does. */
export class ConsolePulls implements ModelPulls {
  readonly #options: ConsolePullsOptions

  constructor(options: ConsolePullsOptions) {
    this.#options = options
  }

  /** Throws if the address cannot be one. */
  check(address: string): void {
    readModelAddress(address, { huggingFace: huggingFace() })
  }

  async fetch(address: string, name: string, ticket: PullTicket): Promise<string> {
    const { dataDirectory, clock, log } = this.#options
    await pullModel({
      name: address,
      into: modelDirectory(dataDirectory, name),
      cacheDirectory: modelCacheDirectory(),
      huggingFace: huggingFace(),
      onProgress: ({ bytes, totalBytes }) => ticket.onProgress(bytes, totalBytes),
      signal: ticket.signal,
      clock,
      log,
    })
    return `pvc://${userDataClaim}/${modelPathInClaim(name)}`
  }
}

function huggingFace(): string | undefined {
  return process.env['HF_ENDPOINT'] || undefined
}
