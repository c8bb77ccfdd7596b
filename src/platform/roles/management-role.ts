import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import type { ConsoleWorld } from '../../management/console/console-world.ts'
import { ManagementServer } from '../../management/management-server.ts'
import { type Cluster, clusterIdOf } from '../../resources/cluster.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { consolePageDirectory } from '../built-pages.ts'
import type { HomeCaches } from '../cluster-caches.ts'
import type { RunningCluster } from '../clusters/running-cluster.ts'
import { urlHost } from '../listen.ts'

export interface ManagementRoleOptions {
  readonly caches: Pick<HomeCaches, 'keys' | 'centers' | 'clusters' | 'usage'>
  readonly homeId: string
  /** The running cluster behind the Cluster of this name; `undefined` while it does not run. */
  readonly running: (name: string) => Pick<RunningCluster, 'nodes' | 'pods' | 'silence'> | undefined
  readonly host: string
  readonly port: number
  readonly outside?: number | undefined
  readonly console: Omit<ConsoleWorld, 'pageDirectory' | 'clusterId' | 'namespace'>
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** The management API for all clusters, and the console of the home cluster. */
export class ManagementRole implements Component {
  readonly name = 'management'
  readonly #host: string
  readonly #server: ManagementServer

  constructor(options: ManagementRoleOptions) {
    const { caches, homeId, running, host, port, outside, clock, log, metrics } = options
    this.#host = host
    const { keys, centers, clusters, usage } = caches
    // The home cluster's name is its ID. In a data directory of an older version its status does not say so until it
    // runs.
    const idOf = (cluster: Cluster) => clusterIdOf(cluster) ?? (cluster.metadata.name === homeId ? homeId : '')
    let byId: ReadonlyMap<string, Cluster> | undefined
    clusters.onChange(() => (byId = undefined))
    const find = (id: string) => {
      byId ??= new Map(clusters.list().map((cluster) => [idOf(cluster), cluster]))
      const cluster = byId.get(id)
      if (!cluster) return undefined
      const view = running(cluster.metadata.name) ?? nothingRuns
      return {
        cluster,
        nodes: view.nodes,
        pods: view.pods,
        // Models are in the home cluster only.
        usage: cluster.metadata.name === homeId ? usage : undefined,
        answers: () => view.silence() === undefined,
      }
    }
    this.#server = new ManagementServer({
      host,
      port,
      outside,
      keys,
      centers,
      clusters: { find },
      console: {
        ...options.console,
        pageDirectory: consolePageDirectory,
        clusterId: homeId,
        namespace: gatewayNamespace,
      },
      // The metrics are about the home cluster and the whole program, so they are for its owner only.
      mayReadMetrics: (enterprise) => clusters.get({ name: homeId })?.spec.enterprise === enterprise,
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

const nobody = { list: () => [], synced: false }
const nothingRuns = { nodes: nobody, pods: nobody, silence: () => 'it does not run' }
