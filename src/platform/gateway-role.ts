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
import { defaultGatewaySettings } from '../gateway/gateway-settings.ts'
import { Gateway } from '../gateway/gateway.ts'
import { TrustedProxies } from '../gateway/trusted-proxies.ts'
import type { ObjectRef } from '../resources/kubernetes-object.ts'
import { gatewayNamespace } from '../resources/model-labels.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import { LoadTable } from '../traffic/load-table.ts'
import { ClusterModelCatalog } from '../traffic/model-catalog.ts'
import { PodPool } from '../traffic/pod-pool.ts'
import { cardHoldings } from './card-room.ts'
import type { ClusterCaches } from './cluster-caches.ts'
import { GatewayWorkerMetrics } from './gateway-worker-metrics.ts'
import { GatewayWorkers } from './gateway-workers.ts'
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
  /** How many threads serve; with 1 it is this one. */
  readonly workers: number
  /** The file that the other threads write their lines to; without it they write none. */
  readonly logPath?: string | undefined
  /** Whether a Model that somebody waits for may take the cards of one that is idle. */
  readonly cardPreemption: boolean
  /** Told of more replicas of a Model while they are being written. */
  readonly foresee?: ((model: ObjectRef, replicas: number) => Promise<void>) | undefined
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
  readonly #server: Gateway | GatewayWorkers
  readonly #cards: CardMeter
  readonly #autoscaler: AutoscaleLoop
  #listening: Listening = { host: '', port: 0 }

  constructor(options: GatewayRoleOptions) {
    this.#options = options
    const { caches, client, clock, log, metrics, idleWindowMs, wakeDeadlineMs } = options
    const { models, pods, nodes } = caches
    const namespace = gatewayNamespace
    const loads =
      options.workers > 1 ? LoadTable.shared({ workers: options.workers, epochMs: clock.now() }) : LoadTable.local()
    this.#pool = new PodPool({ namespace, pods, models, clock, log, metrics, loads, settings: { wakeDeadlineMs } })
    this.#server = this.#createServer(loads)
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
      foresee: options.foresee,
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
    this.#listening = await listenOn(this.#server, { name: 'gateway', flag: '--gateway-port', host, port })
    this.#cards.start()
    this.#autoscaler.start()
  }

  async stop(): Promise<void> {
    this.#cards.stop()
    await this.#autoscaler.stop()
    this.#pool.stop()
    await this.#server.close({ graceMs: defaultGatewaySettings.stopGraceMs })
  }

  get listening(): Listening {
    return this.#listening
  }

  get url(): string {
    return `http://${urlHost(this.#listening.host)}:${this.#listening.port}`
  }

  #createServer(loads: LoadTable): Gateway | GatewayWorkers {
    const {
      caches,
      clock,
      log,
      metrics,
      wakeDeadlineMs,
      requireApiKeys,
      bodyLimitBytes,
      workers: count,
    } = this.#options
    const { models, keys } = caches
    const namespace = gatewayNamespace
    const own = isIP(this.#options.host) === 0 ? '' : this.#options.host
    const trustedProxies = `${this.#options.trustedProxies},${own}`
    const parsedProxies = TrustedProxies.parse(trustedProxies, '--trusted-proxies')
    const workerMetrics = new GatewayWorkerMetrics(metrics)
    if (count === 1) {
      workerMetrics.running.set(1)
      return new Gateway({
        catalog: new ClusterModelCatalog({ models, namespace }),
        pool: this.#pool,
        keys: requireApiKeys ? keys : undefined,
        trustedProxies: parsedProxies,
        settings: { maxBodyBytes: bodyLimitBytes },
        log,
        clock,
        metrics,
        chatPageDirectory,
      })
    }
    const settings = {
      namespace,
      wakeDeadlineMs,
      requireApiKeys,
      trustedProxies,
      bodyLimitBytes,
      heldLimitBytes: Math.max(bodyLimitBytes, Math.floor(defaultGatewaySettings.maxHeldBytes / count)),
      chatPageDirectory,
      logPath: this.#options.logPath,
    }
    return new GatewayWorkers({
      count,
      settings,
      loads,
      pool: this.#pool,
      models,
      keys,
      clock,
      log,
      metrics,
      workerMetrics,
    })
  }

  /** Requests in flight at a Pod. */
  busy(model: string, podName: string): number {
    return this.#pool.inFlightByEndpoint(model).get(podName) ?? 0
  }
}
