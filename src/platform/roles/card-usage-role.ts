import type { CardNeed } from '../../autoscaler/cards.ts'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import type { Model } from '../../resources/model.ts'
import { CardUsageMeter } from '../../usage/card-usage-meter.ts'
import { UsageExpiry } from '../../usage/usage-expiry.ts'
import { usageWriter } from '../usage/usage-writing.ts'

export interface CardUsageRoleOptions {
  readonly client: ClusterClient
  readonly models: { list(): readonly Model[] }
  /** How long records of usage are kept. */
  readonly usageRetentionDays: number
  cardsOf(model: Model): CardNeed | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** Writes down what Models hold of cards and what sleeping saves, and deletes what is too old. One runs at a time. */
export function cardUsageRole(options: CardUsageRoleOptions): Component & Pick<CardUsageMeter, 'step'> {
  const { client, models, usageRetentionDays: retentionDays, clock, log, metrics } = options
  const writer = usageWriter({ client, room: 'autoscaler', writer: 'controller', clock, log, metrics })
  const expiry = new UsageExpiry({ client, namespace: gatewayNamespace, retentionDays, clock, log })
  const meter = new CardUsageMeter({
    *models() {
      for (const model of models.list()) {
        // One that cannot start does not save anything by sleeping.
        const isMeant = model.metadata.namespace === gatewayNamespace && model.status?.phase !== 'Failed'
        const cards = isMeant ? options.cardsOf(model)?.count : undefined
        if (cards !== undefined) yield { model: model.metadata.name, cards }
      }
    },
    tell: (cards) => writer.addCards(cards),
  })
  return {
    name: 'usage of cards',
    step: (seconds, held) => meter.step(seconds, held),
    start: () => expiry.start(),
    async stop(signal) {
      await expiry.stop()
      meter.finish()
      await writer.stop(signal)
    },
  }
}
