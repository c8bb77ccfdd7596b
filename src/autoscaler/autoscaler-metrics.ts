import type { Metrics } from '../foundation/metrics.ts'
import type { ScaleReason } from './decide.ts'
import type { DemandReading } from './demand.ts'

interface Shown {
  isKnown?: boolean
  active?: number
  waiting?: number
  wanted?: number
  sleepsAt?: number | undefined
}

/** Metrics of each Model: what the autoscaler saw, wanted and did. */
export class AutoscalerMetrics {
  readonly #changes
  readonly #failures
  readonly #wanted
  readonly #demand
  readonly #known
  readonly #sleepsAt
  /** The values last set: most models do not change from second to second, and setting a gauge is not free. */
  readonly #shown = new Map<string, Shown>()

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
    this.#sleepsAt = metrics.gauge(
      'sluice_autoscaler_sleeps_at_seconds',
      'When the model goes to sleep if nobody asks until then, in seconds since 1970; not there while somebody does',
      ['model'],
    )
  }

  /** In milliseconds since 1970; undefined while it does not go to sleep. */
  sleepsAt(model: string, at: number | undefined): void {
    const shown = this.#shownOf(model)
    if (shown.sleepsAt === at) return
    shown.sleepsAt = at
    if (at === undefined) this.#sleepsAt.remove({ model })
    else this.#sleepsAt.set({ model }, at / 1000)
  }

  observe(model: string, reading: DemandReading | undefined): void {
    const shown = this.#shownOf(model)
    const isKnown = reading !== undefined && reading.isPartial !== true
    if (shown.isKnown !== isKnown) this.#known.set({ model }, isKnown ? 1 : 0)
    shown.isKnown = isKnown
    for (const state of reading ? (['active', 'waiting'] as const) : []) {
      const count = reading?.[state] ?? 0
      if (shown[state] !== count) this.#demand.set({ model, state }, count)
      shown[state] = count
    }
  }

  replicas(model: string, wanted: number): void {
    const shown = this.#shownOf(model)
    if (shown.wanted !== wanted) this.#wanted.set({ model }, wanted)
    shown.wanted = wanted
  }

  changed(model: string, reason: ScaleReason): void {
    this.#changes.inc({ model, reason })
  }

  failed(model: string): void {
    this.#failures.inc({ model })
  }

  /** Counters stay, because they are history. */
  forget(model: string): void {
    this.#shown.delete(model)
    this.#wanted.remove({ model })
    this.#sleepsAt.remove({ model })
    this.#known.remove({ model })
    this.#demand.remove({ model, state: 'active' })
    this.#demand.remove({ model, state: 'waiting' })
  }

  #shownOf(model: string): Shown {
    let shown = this.#shown.get(model)
    if (shown === undefined) this.#shown.set(model, (shown = {}))
    return shown
  }
}
