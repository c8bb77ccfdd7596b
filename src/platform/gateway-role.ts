import { isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import { AutoscaleLoop } from '../autoscaler/autoscale-loop.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EventRecorder, eventSettleMs } from '../cluster/event-recorder.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { CardMeter } from '../gateway/card-meter.ts'
import { Gateway } from '../gateway/gateway.ts'
import { TrustedProxies } from '../gateway/trusted-proxies.ts'
import { gatewayNamespace } from '../resources/model-labels.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import { ClusterModelCatalog } from '../traffic/model-catalog.ts'
import { PodPool } from '../traffic/pod-pool.ts'
import { cardHoldings } from './card-room.ts'
import type { ClusterCaches } from './cluster-caches.ts'
import { type Listening, listenOn, urlHost } from './listen.ts'

export interface GatewayRoleOptions {
  readonly client: ClusterClient
  readonly caches: ClusterCaches
  readonly host: string
  readonly port: number
  readonly idleWindowMs: number
  readonly wakeDeadlineMs: number
  readonly requireApiKeys: boolean
  /** Addresses and ranges, separated by commas. This machine's own address is one: the edge stands there. */
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  /** Whether a Model that somebody waits for may take the cards of one that is idle. */
  readonly cardPreemption: boolean
  /** The kind of card that a Model's Pods hold. */
  cardKindOf(model: Model): string | undefined
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
  readonly #cards: CardMeter
  readonly #autoscaler: AutoscaleLoop
  #listening: Listening = { host: '', port: 0 }

  constructor(options: GatewayRoleOptions) {
    this.#options = options
    const { caches, client, clock, log, metrics, idleWindowMs, wakeDeadlineMs } = options
    const { models, pods, nodes } = caches
    const namespace = gatewayNamespace
    this.#pool = new PodPool({ namespace, pods, models, clock, log, metrics, settings: { wakeDeadlineMs } })
    const catalog = new ClusterModelCatalog({ models, namespace })
    const own = isIP(options.host) === 0 ? '' : options.host
    this.#gateway = new Gateway({
      catalog,
      pool: this.#pool,
      keys: options.requireApiKeys ? caches.keys : undefined,
      trustedProxies: TrustedProxies.parse(`${options.trustedProxies},${own}`, '--trusted-proxies'),
      settings: { maxBodyBytes: options.bodyLimitBytes },
      log,
      clock,
      metrics,
      chatPageDirectory,
    })
    this.#cards = new CardMeter({ namespace, pods, demand: this.#pool, clock, metrics })
    this.#autoscaler = new AutoscaleLoop({
      models,
      namespace,
      client,
      demand: this.#pool,
      events: new EventRecorder({ client, component: 'sluice-autoscaler', clock, log, settleMs: eventSettleMs }),
      clock,
      log,
      metrics,
      idleWindowMs,
      takeIdleCards: options.cardPreemption,
      cards: {
        perReplica: (model) => {
          const kind = options.cardKindOf(model)
          return kind === undefined
            ? undefined
            : { kind, count: parseResourceProfile(model.spec.resourceProfile).cards }
        },
        holdings: (kind) => cardHoldings(kind, nodes.list(), pods.list()),
      },
    })
  }

  async start(): Promise<void> {
    const { host, port } = this.#options
    this.#listening = await listenOn(this.#gateway, { name: 'gateway', flag: '--gateway-port', host, port })
    this.#cards.start()
    this.#autoscaler.start()
  }

  async stop(): Promise<void> {
    this.#cards.stop()
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
