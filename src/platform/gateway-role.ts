import { fileURLToPath } from 'node:url'
import { AutoscaleLoop } from '../autoscaler/autoscale-loop.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { Gateway } from '../gateway/gateway.ts'
import { gatewayNamespace } from '../resources/model-labels.ts'
import { ClusterModelCatalog } from '../traffic/model-catalog.ts'
import { PodPool } from '../traffic/pod-pool.ts'
import { replicasThatFit } from './card-room.ts'
import type { ClusterCaches } from './cluster-caches.ts'
import { type Listening, listenOn, urlHost } from './listen.ts'

export interface GatewayRoleOptions {
  readonly client: ClusterClient
  readonly caches: ClusterCaches
  readonly host: string
  readonly port: number
  readonly idleWindowMs: number
  readonly wakeDeadlineMs: number
  readonly defaultCardKind: string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const chatPageDirectory = fileURLToPath(new URL('../../web/dist', import.meta.url))

/** The gateway with its traffic, and the autoscaler that listens to its demand. */
export class GatewayRole implements Component {
  readonly name = 'gateway'
  readonly #options: GatewayRoleOptions
  readonly #pool: PodPool
  readonly #gateway: Gateway
  readonly #autoscaler: AutoscaleLoop
  #listening: Listening = { host: '', port: 0 }

  constructor(options: GatewayRoleOptions) {
    this.#options = options
    const { caches, client, clock, log, metrics, idleWindowMs, wakeDeadlineMs, defaultCardKind } = options
    const { models, pods, nodes } = caches
    const namespace = gatewayNamespace
    this.#pool = new PodPool({ namespace, pods, models, clock, log, metrics, settings: { wakeDeadlineMs } })
    const catalog = new ClusterModelCatalog({ models, namespace })
    this.#gateway = new Gateway({ catalog, pool: this.#pool, log, clock, metrics, chatPageDirectory })
    this.#autoscaler = new AutoscaleLoop({
      models,
      client,
      demand: this.#pool,
      events: new EventRecorder({ client, component: 'sluice-autoscaler', clock, log }),
      clock,
      log,
      metrics,
      idleWindowMs,
      replicasThatFit: (model) => replicasThatFit(model, defaultCardKind, nodes.list(), pods.list()),
    })
  }

  async start(): Promise<void> {
    const { host, port } = this.#options
    this.#listening = await listenOn(this.#gateway, { name: 'gateway', flag: '--gateway-port', host, port })
    this.#autoscaler.start()
  }

  async stop(): Promise<void> {
    await this.#autoscaler.stop()
    this.#pool.stop()
    await this.#gateway.close()
  }

  get listening(): Listening {
    return this.#listening
  }

  get url(): string {
    return `http://${urlHost(this.#listening.host)}:${this.#listening.port}`
  }

  /** Requests in flight at a Pod. */
  busy(model: string, podName: string): number {
    return this.#pool.inFlightByEndpoint(model).get(podName) ?? 0
  }
}
