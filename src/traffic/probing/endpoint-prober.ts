import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import type { EndpointProbe } from './endpoint-probe.ts'
import type { KnownEndpoint } from '../endpoints/known-endpoint.ts'
import { probePauseMs } from './probe-pace.ts'

export interface EndpointProberOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly probe: EndpointProbe
  readonly probeTimeoutMs: number
  readonly signal: AbortSignal
}

/** The model whose endpoint is probed. */
export interface ProbedFor {
  readonly model: string
  /** Whether somebody waits for the model now. */
  awaited(): boolean
  healthy(endpoint: KnownEndpoint): void
}

/** Asks endpoints whether they are healthy, until they are or the answer no longer matters. */
export class EndpointProber {
  readonly #options: EndpointProberOptions
  /** The endpoints being probed, each with a function that ends its current pause. */
  readonly #hurry = new Map<KnownEndpoint, () => void>()

  constructor(options: EndpointProberOptions) {
    this.#options = options
  }

  /** Starts probing. If the endpoint is being probed already, the next probe is made at once. */
  watch(endpoint: KnownEndpoint, by: ProbedFor): void {
    const { log, signal } = this.#options
    const hurry = this.#hurry.get(endpoint)
    if (hurry || signal.aborted) return hurry?.()
    this.#hurry.set(endpoint, () => {})
    this.#probe(endpoint, by)
      .catch((error: unknown) => {
        log.error({ model: by.model, endpoint: endpoint.name, reason: errorMessage(error) }, 'a probe failed')
      })
      .finally(() => this.#hurry.delete(endpoint))
  }

  async #probe(endpoint: KnownEndpoint, by: ProbedFor): Promise<void> {
    const { signal } = this.#options
    // The sum of the pauses, not measured: setting the system clock must not change the pace.
    let elapsedMs = 0
    while (!signal.aborted) {
      const { state } = endpoint
      if (state !== 'failed' && !(state === 'starting' && by.awaited())) return
      const healthy = await this.#ask(endpoint)
      if (signal.aborted) return
      // Meanwhile it may have left, or the cluster may have called it ready.
      if (endpoint.state !== 'failed' && endpoint.state !== 'starting') return
      if (healthy) return by.healthy(endpoint)
      const pauseMs = probePauseMs({ state: endpoint.state, elapsedMs, awaited: by.awaited() })
      elapsedMs += pauseMs
      await this.#pause(endpoint, pauseMs)
    }
  }

  async #ask(endpoint: KnownEndpoint): Promise<boolean> {
    const { clock, probe, probeTimeoutMs, signal } = this.#options
    const overdue = new AbortController()
    const giveUp = () => overdue.abort()
    const cancel = clock.after(probeTimeoutMs, giveUp)
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      return await probe(endpoint.address, endpoint.healthPath, overdue.signal)
    } finally {
      cancel()
      signal.removeEventListener('abort', giveUp)
    }
  }

  #pause(endpoint: KnownEndpoint, ms: number): Promise<void> {
    const { clock, signal } = this.#options
    return new Promise((resolve) => {
      const end = () => {
        cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const cancel = clock.after(ms, end)
      this.#hurry.set(endpoint, end)
      signal.addEventListener('abort', end, { once: true })
    })
  }
}
