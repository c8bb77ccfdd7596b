import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder, eventSettleMs } from '../../cluster/event-recorder.ts'
import { ExposureController } from '../../exposure/status/exposure-controller.ts'
import { EndpointReach } from '../../exposure/routes/endpoint-reach.ts'
import type { JoinedRoutes } from '../../exposure/routes/joined-routes.ts'
import { RouteTable } from '../../exposure/routes/route-table.ts'
import type { RouteEndpoint } from '../../exposure/routes/service-endpoints.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { closedAddresses } from '../../node/network/cluster-blocks.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { backgroundTask } from '../background-task.ts'
import type { ClusterCaches } from '../cluster-caches.ts'
import { type Listening, urlHost } from '../listen.ts'

export interface ExposureRoleOptions {
  readonly client: ClusterClient
  readonly caches: ClusterCaches
  readonly clusterId: string
  /** Of its compute center, as it is at the moment. */
  readonly proxyDomain: () => string
  /** Told when that has changed. */
  readonly onDomainChange: (listener: () => void) => () => void
  /** Where the routes of all clusters come together. */
  readonly joined: JoinedRoutes
  readonly port: number
  /** Where the threads listen, once they do. */
  readonly listening: () => Listening
  /** Where the gateway is, in the cluster that has it: what is behind its Service is this very program. */
  readonly gateway?: (() => RouteEndpoint | undefined) | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** What the exposure has in this thread: the routes of one cluster, and telling each ServiceExporter about its own. */
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
      closed: () => closedAddresses(),
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

  /** The address of an exposed host. */
  urlOf(hostLabel: string): string {
    return `https://${hostLabel}.${this.#options.proxyDomain()}:${this.#options.listening().port}`
  }
}
