import { isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import { AutoscaleLoop, type ReplicaForesight } from '../../autoscaler/autoscale-loop.ts'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder, eventSettleMs } from '../../cluster/event-recorder.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { CardMeter } from '../../gateway/card-meter.ts'
import { defaultGatewaySettings } from '../../gateway/gateway-settings.ts'
import { TrustedProxies } from '../../gateway/access/trusted-proxies.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { modelOfPod } from '../../resources/model-ownership.ts'
import { parseResourceProfile } from '../../resources/model-references.ts'
import type { Model } from '../../resources/model.ts'
import { LoadTable } from '../../traffic/endpoints/load-table.ts'
import { PodPool } from '../../traffic/pod-pool.ts'
import { cardHoldings } from '../card-room.ts'
import type { HomeCaches } from '../cluster-caches.ts'
import type { ServedGateway } from '../serving/serving-messages.ts'
import type { GatewayToServe } from '../serving/serving-threads.ts'

export interface GatewayRoleOptions {
  readonly client: ClusterClient
  readonly caches: HomeCaches
  readonly host: string
  readonly idleWindowMs: number
  readonly wakeDeadlineMs: number
  readonly requireApiKeys: boolean
  /** Addresses and ranges, separated by commas. This machine's own address is always added, since the edge is there. */
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  /** How many serving threads there are. */
  readonly threads: number
  /** Whether a Model that somebody waits for may take the cards of an idle one. */
  readonly cardPreemption: boolean
  /** Is told that a Model will get more replicas, before this is written. */
  readonly foresight?: ReplicaForesight | undefined
  /** The kind of card that a Model's Pods use. */
  cardKindOf(model: Model): string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

const chatPageDirectory = fileURLToPath(new URL('../../../web/dist', import.meta.url))

/**
 * The gateway's part in the main thread: the queues of waiting requests, and the autoscaler, which follows their
 * demand.
 */
export class GatewayRole implements Component {
  readonly name = 'gateway'
  /** What the serving threads need from here. */
  readonly served: GatewayToServe
  readonly #pool: PodPool
  readonly #cards: CardMeter
  readonly #autoscaler: AutoscaleLoop

  constructor(options: GatewayRoleOptions) {
    const { caches, client, clock, log, metrics, idleWindowMs, wakeDeadlineMs } = options
    const { models, pods, secrets, nodes, keys } = caches
    const namespace = gatewayNamespace
    const loads = LoadTable.shared({ workers: options.threads, epochMs: clock.now() })
    this.#pool = new PodPool({
      namespace,
      pods,
      models,
      secrets,
      clock,
      log,
      metrics,
      loads,
      settings: { wakeDeadlineMs },
    })
    this.served = { settings: servedSettings(options), loads, pool: this.#pool, models, keys }
    this.#cards = new CardMeter({ namespace, pods, models, demand: this.#pool, clock, metrics })
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
      foresight: options.foresight,
      cards: {
        perReplica: (model) => {
          const kind = options.cardKindOf(model)
          return kind === undefined
            ? undefined
            : { kind, count: parseResourceProfile(model.spec.resourceProfile).cards }
        },
        holdings: (kind) => cardHoldings(kind, nodes.list(), pods.list(), (pod) => modelOfPod(pod, models)),
      },
    })
  }

  start(): void {
    this.#cards.start()
    this.#autoscaler.start()
  }

  /** Turns waiting clients away; the threads go on with requests that are being answered. */
  async stop(): Promise<void> {
    this.#cards.stop()
    await this.#autoscaler.stop()
    this.#pool.stop()
  }

  /** How many requests the Pod is answering. */
  busy(model: string, podName: string): number {
    return this.#pool.inFlightByEndpoint(model).get(podName) ?? 0
  }
}

function servedSettings(options: GatewayRoleOptions): ServedGateway {
  const { wakeDeadlineMs, requireApiKeys, bodyLimitBytes, host, threads } = options
  const own = isIP(host) === 0 ? '' : host
  const trustedProxies = `${options.trustedProxies},${own}`
  // Settings that cannot be parsed are refused here, before any thread starts with them.
  TrustedProxies.parse(trustedProxies, '--trusted-proxies')
  return {
    namespace: gatewayNamespace,
    wakeDeadlineMs,
    requireApiKeys,
    trustedProxies,
    bodyLimitBytes,
    heldLimitBytes: Math.max(bodyLimitBytes, Math.floor(defaultGatewaySettings.maxHeldBytes / threads)),
    chatPageDirectory,
  }
}
