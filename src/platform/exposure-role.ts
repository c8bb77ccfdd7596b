import type { ClusterClient } from '../cluster/cluster-client.ts'
import { ExposureController } from '../exposure/exposure-controller.ts'
import { ExposureEdge } from '../exposure/exposure-edge.ts'
import { RouteTable } from '../exposure/route-table.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { backgroundTask } from './background-task.ts'
import type { KeyAndCertificate } from './certificates.ts'
import type { ClusterCaches } from './cluster-caches.ts'
import { listenOn, urlHost } from './listen.ts'

export interface ExposureRoleOptions {
  readonly client: ClusterClient
  readonly caches: ClusterCaches
  readonly clusterId: string
  readonly proxyDomain: string
  readonly tls: KeyAndCertificate
  readonly host: string
  readonly port: number
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const stopGraceMs = 10_000

/** The edge with the routes of one cluster. */
export class ExposureRole implements Component {
  readonly name = 'exposure'
  readonly #options: ExposureRoleOptions
  readonly #edge: ExposureEdge
  #routes: RouteTable | undefined
  #controller: Component | undefined
  #port = 0

  constructor(options: ExposureRoleOptions) {
    this.#options = options
    const { tls, log, metrics } = options
    this.#edge = new ExposureEdge({ tls, log, metrics })
  }

  async start(signal: AbortSignal): Promise<void> {
    const { client, caches, clusterId, proxyDomain, host, port, clock, log } = this.#options
    const listening = await listenOn(this.#edge, { name: 'exposure', flag: '--exposure-port', host, port })
    this.#port = listening.port
    const { exporters, services, slices } = caches
    // The routes know the port, so they are made once it is known.
    this.#routes = new RouteTable({ exporters, services, slices, facts: { clusterId, proxyDomain, port: this.#port } })
    this.#edge.addRoutes(this.#routes)
    const controller = new ExposureController({ client, exporters, routes: this.#routes, clock, log })
    this.#controller = backgroundTask('exposure controller', (stop) => controller.run(stop))
    await this.#controller.start?.(signal)
  }

  async stop(signal: AbortSignal): Promise<void> {
    await this.#controller?.stop?.(signal)
    this.#routes?.close()
    await this.#edge.close({ graceMs: stopGraceMs })
  }

  get url(): string {
    return `https://${urlHost(this.#options.host)}:${this.#port}`
  }

  /** The address of an exposed host. */
  urlOf(hostLabel: string): string {
    return `https://${hostLabel}.${this.#options.proxyDomain}:${this.#port}`
  }
}
