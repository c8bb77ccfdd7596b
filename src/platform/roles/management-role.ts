import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { ManagementServer } from '../../management/management-server.ts'
import type { ClusterCaches } from '../cluster-caches.ts'
import { urlHost } from '../listen.ts'

export interface ManagementRoleOptions {
  readonly caches: ClusterCaches
  readonly host: string
  readonly port: number
  readonly outside?: number | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** The management API over the home cluster, which is the only one so far. */
export class ManagementRole implements Component {
  readonly name = 'management'
  readonly #host: string
  readonly #server: ManagementServer

  constructor({ caches, host, port, outside, clock, log, metrics }: ManagementRoleOptions) {
    this.#host = host
    const { keys, centers, clusters, nodes, pods } = caches
    const find = (id: string) => {
      const cluster = clusters.get({ name: id })
      return cluster && { cluster, nodes, pods }
    }
    this.#server = new ManagementServer({
      host,
      port,
      outside,
      keys,
      centers,
      clusters: { find },
      // They tell of the home cluster.
      mayReadMetrics: (enterprise) => clusters.list().some(({ spec }) => spec.enterprise === enterprise),
      clock,
      log,
      metrics,
    })
  }

  start(): Promise<void> {
    return this.#server.start()
  }

  stop(signal: AbortSignal): Promise<void> {
    return this.#server.stop(signal)
  }

  get url(): string {
    return `http://${urlHost(this.#host)}:${this.#server.port}`
  }
}
