import { AutoscaleLoop, type ReplicaForesight } from '../../autoscaler/autoscale-loop.ts'
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
import { parseResourceProfile } from '../../resources/model-references.ts'
import type { Model } from '../../resources/model.ts'
import { cardHoldings } from '../card-room.ts'
import type { HomeCaches } from '../cluster-caches.ts'

export interface AutoscalerRoleOptions {
  readonly client: ClusterClient
  readonly caches: Pick<HomeCaches, 'models' | 'pods' | 'nodes'>
  /** Of one gateway in this process, or of all that there are in the cluster. */
  readonly demand: Demand & CardMeterOptions['demand']
  readonly idleWindowMs: number
  /** Whether a Model that somebody waits for may take the cards of one that is idle. */
  readonly cardPreemption: boolean
  /** Told of more replicas of a Model before they are written. */
  readonly foresight?: ReplicaForesight | undefined
  /** The kind of card that a Model's Pods hold. */
  cardKindOf(model: Model): string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** The autoscaler of a cluster's Models, and the meter of what they cost. One runs at a time per cluster. */
export function autoscalerRole(options: AutoscalerRoleOptions): Component {
  const { client, caches, demand, idleWindowMs, cardPreemption, foresight, clock, log, metrics } = options
  const { models, pods, nodes } = caches
  const namespace = gatewayNamespace
  const meter = new CardMeter({ namespace, pods, models, demand, clock, metrics })
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
      perReplica: (model) => {
        const kind = options.cardKindOf(model)
        return kind === undefined ? undefined : { kind, count: parseResourceProfile(model.spec.resourceProfile).cards }
      },
      holdings: (kind) => cardHoldings(kind, nodes.list(), pods.list(), (pod) => modelOfPod(pod, models)),
    },
  })
  return {
    name: 'autoscaler',
    start() {
      meter.start()
      loop.start()
    },
    async stop() {
      meter.stop()
      await loop.stop()
    },
  }
}
