import { AutoscaleLoop, type ReplicaForesight } from '../../autoscaler/autoscale-loop.ts'
import type { CardNeed } from '../../autoscaler/cards.ts'
import type { Demand } from '../../autoscaler/demand.ts'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder, eventSettleMs } from '../../cluster/event-recorder.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { CardMeter, type CardMeterOptions } from '../../gateway/card-meter.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { modelOfPod } from '../../resources/model-ownership.ts'
import type { Model } from '../../resources/model.ts'
import { cardHoldings } from '../card-room.ts'
import type { HomeCaches } from '../cluster-caches.ts'
import { cardUsageRole } from './card-usage-role.ts'

export interface AutoscalerRoleOptions {
  readonly client: ClusterClient
  readonly caches: Pick<HomeCaches, 'models' | 'pods' | 'nodes'>
  /** Of one gateway in this process, or of all that there are in the cluster. */
  readonly demand: Demand & CardMeterOptions['demand']
  readonly idleWindowMs: number
  /** Whether a Model that somebody waits for may take the cards of one that is idle. */
  readonly cardPreemption: boolean
  /** How long records of usage are kept. */
  readonly usageRetentionDays: number
  /** Told of more replicas of a Model before they are written. */
  readonly foresight?: ReplicaForesight | undefined
  /** The cards that a replica of a Model holds; undefined if nobody knows. */
  cardsOf(model: Model): CardNeed | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** The autoscaler of a cluster's Models, and the meter of what they cost. One runs at a time per cluster. */
export function autoscalerRole(options: AutoscalerRoleOptions): Component {
  const { client, caches, demand, idleWindowMs, cardPreemption, foresight, clock, log, metrics } = options
  const { models, pods, nodes } = caches
  const namespace = gatewayNamespace
  const usage = cardUsageRole({ ...options, models })
  const onStep: CardMeterOptions['onStep'] = (seconds, held) => usage.step(seconds, held)
  const meter = new CardMeter({ namespace, pods, models, demand, clock, metrics, onStep })
  const loop = new AutoscaleLoop({
    models,
    namespace,
    client,
    demand,
    events: new EventRecorder({ client, component: 'sluice-autoscaler', clock, log, settleMs: eventSettleMs }),
    clock,
    log,
    metrics,
    idleWindowMs,
    takeIdleCards: cardPreemption,
    foresight,
    cards: {
      perReplica: (model) => options.cardsOf(model),
      holdings: (kind) => cardHoldings(kind, nodes.list(), pods.list(), (pod) => modelOfPod(pod, models)),
    },
  })
  return {
    name: 'autoscaler',
    async start(signal) {
      await usage.start?.(signal)
      meter.start()
      loop.start()
    },
    async stop(signal) {
      meter.stop()
      await loop.stop()
      await usage.stop?.(signal)
    },
  }
}
