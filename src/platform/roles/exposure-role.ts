import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder, eventSettleMs } from '../../cluster/event-recorder.ts'
import { ExposureController } from '../../exposure/exposure-controller.ts'
import { EndpointReach } from '../../exposure/endpoint-reach.ts'
import type { JoinedRoutes } from '../../exposure/joined-routes.ts'
import { RouteTable } from '../../exposure/route-table.ts'
import type { RouteEndpoint } from '../../exposure/service-endpoints.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { closedAddresses } from '../../node/network/cluster-blocks.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { backgroundTask } from '../background-task.ts'
import type { EdgeCaches } from '../cluster-caches.ts'
import { type Listening, urlHost } from '../listen.ts'

export interface ExposureRoleOptions {
  readonly client: ClusterClient
  readonly caches: EdgeCaches
  readonly clusterId: string
  /** The current proxy domain of the cluster's compute center. */
  readonly proxyDomain: () => string
  /** Calls the listener whenever the domain has changed. */
  readonly onDomainChange: (listener: () => void) => () => void
  /** The routes of all clusters, to which this cluster adds its own. */
  readonly joined: JoinedRoutes
  readonly port: number
  /** Where the serving threads listen, once they do. */
  readonly listening: () => Listening
  /** Where the gateway listens. Its Service has no Pods behind it, but this program; other clusters have no gateway. */
  readonly gateway?: (() => RouteEndpoint | undefined) | undefined
  /** Addresses that no Service leads to, unless a Pod of its namespace has one; unless told, those of this machine. */
  readonly closed?: (() => readonly string[]) | undefined
  readonly clock: Clock
  readonly log: Logger
}

/**
 * The exposure's part in the main thread: keeps the routes of one cluster, and writes the status of its
 * ServiceExporters.
 */
export class ExposureRole implements Component {
  readonly name = 'exposure'
  readonly #options: ExposureRoleOptions
  readonly #routes: RouteTable
  readonly #reach: EndpointReach
  #controller: Component | undefined
  #forget: ReadonlyArray<() => void> = []

  constructor(options: ExposureRoleOptions) {
    this.#options = options
    const { caches, clusterId, proxyDomain, port, joined, onDomainChange, gateway, clock } = options
    const { exporters, services, slices, tlsSecrets: secrets, pods } = caches
    const isGateway = ({ host, port: at }: RouteEndpoint) => gateway?.()?.host === host && gateway()?.port === at
    this.#reach = new EndpointReach({
      pods,
      closed: options.closed ?? (() => closedAddresses()),
      isOwn: (namespace, endpoint) => namespace === gatewayNamespace && isGateway(endpoint),
    })
    this.#routes = new RouteTable({
      exporters,
      services,
      slices,
      secrets,
      facts: { clusterId, proxyDomain: proxyDomain(), port },
      reach: this.#reach,
      clock,
    })
    this.#forget = [joined.add(this.#routes), onDomainChange(() => this.#routes.livesBelow(proxyDomain()))]
  }

  async start(signal: AbortSignal): Promise<void> {
    const { client, caches, listening, clock, log } = this.#options
    this.#routes.listensAt(listening().port)
    this.#routes.livesBelow(this.#options.proxyDomain())
    const { exporters } = caches
    const events = new EventRecorder({ client, component: 'sluice-exposure', clock, log, settleMs: eventSettleMs })
    const controller = new ExposureController({ client, exporters, routes: this.#routes, events, clock, log })
    this.#controller = backgroundTask('exposure controller', (stop) => controller.run(stop))
    await this.#controller.start?.(signal)
  }

  async stop(signal: AbortSignal): Promise<void> {
    await this.#controller?.stop?.(signal)
    for (const forget of this.#forget) forget()
    this.#routes.close()
    this.#reach.close()
  }

  get url(): string {
    const { host, port } = this.#options.listening()
    return `https://${urlHost(host)}:${port}`
  }

  /** The URL of an exposed host. */
  urlOf(hostLabel: string): string {
    return `https://${hostLabel}.${this.#options.proxyDomain()}:${this.#options.listening().port}`
  }
}
