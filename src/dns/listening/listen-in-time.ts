import { backoffMs } from '../../cluster/pace/backoff.ts'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'

export interface ListenInTimeOptions {
  readonly address: string
  readonly port: number
  listen(address: string, port: number): Promise<unknown>
  /** Told once of each reason for not listening, and once when it listens after all. */
  tell(news: { readonly listens: boolean; readonly message: string }): void
  readonly clock: Clock
  readonly log: Logger
}

const retryLimits = { firstMs: 1_000, longestMs: 60_000 }

/**
 * Listens as soon as that is possible: a DNS server of the machine may occupy the port on all of its addresses, and be
 * stopped later. Until then, Pods run without names.
 */
export class ListenInTime {
  readonly #options: ListenInTimeOptions
  #failures = 0
  #problem: string | undefined
  #cancel: CancelTimer | undefined
  #trying: Promise<void> | undefined
  #closed = false

  constructor(options: ListenInTimeOptions) {
    this.#options = options
  }

  /** Resolves after the first attempt; never rejects. */
  start(): Promise<void> {
    this.#trying = this.#try()
    return this.#trying
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancel?.()
    await this.#trying
  }

  async #try(): Promise<void> {
    const { address, port, log, clock } = this.#options
    try {
      await this.#options.listen(address, port)
      if (this.#problem === undefined) return
      log.info({ address, port }, 'cluster DNS listens')
      this.#options.tell({ listens: true, message: `Names of Services are answered at ${address}:${port}.` })
    } catch (error) {
      if (this.#closed) return
      this.#failures += 1
      this.#tellProblem(error)
      this.#cancel = clock.after(backoffMs(this.#failures, Math.random(), retryLimits), () => void this.start())
    }
  }

  #tellProblem(error: unknown): void {
    const { address, port, log } = this.#options
    const problem = errorMessage(error)
    if (problem === this.#problem) return
    this.#problem = problem
    log.warn({ err: error, address, port }, 'cluster DNS cannot listen')
    this.#options.tell({
      listens: false,
      message: `Names of Services are not answered, because ${address}:${port} cannot be listened on: ${problem}`,
    })
  }
}
