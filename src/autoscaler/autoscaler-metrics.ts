import type { Metrics } from '../foundation/metrics.ts'
import type { ScaleReason } from './decide.ts'
import type { DemandReading } from './demand.ts'

/** What the autoscaler saw, wanted and did, per Model. */
export class AutoscalerMetrics {
  readonly #changes
  readonly #failures
  readonly #wanted
  readonly #demand
  readonly #known

  constructor(metrics: Metrics) {
    this.#changes = metrics.counter(
      'sluice_autoscaler_changes_total',
      'Changes of replicas, by the reason that the Event has too',
      ['model', 'reason'],
    )
    this.#failures = metrics.counter('sluice_autoscaler_scale_failures_total', 'Changes that the cluster refused', [
      'model',
    ])
    this.#wanted = metrics.gauge('sluice_autoscaler_wanted_replicas', 'Replicas wanted now', ['model'])
    this.#demand = metrics.gauge('sluice_autoscaler_demand', 'Requests at the last sample, by state', [
      'model',
      'state',
    ])
    this.#known = metrics.gauge('sluice_autoscaler_demand_known', '1 while demand is known, 0 while it is not', [
      'model',
    ])
  }

  observe(model: string, reading: DemandReading | undefined): void {
    this.#known.set({ model }, reading === undefined ? 0 : 1)
    if (reading === undefined) return
    this.#demand.set({ model, state: 'active' }, reading.active)
    this.#demand.set({ model, state: 'waiting' }, reading.waiting)
  }

  replicas(model: string, wanted: number): void {
    this.#wanted.set({ model }, wanted)
  }

  changed(model: string, reason: ScaleReason): void {
    this.#changes.inc({ model, reason })
  }

  failed(model: string): void {
    this.#failures.inc({ model })
  }

  /** Counters stay: they are history. */
  forget(model: string): void {
    this.#wanted.remove({ model })
    this.#known.remove({ model })
    this.#demand.remove({ model, state: 'active' })
    this.#demand.remove({ model, state: 'waiting' })
  }
}
