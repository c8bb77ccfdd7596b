import type { Metrics } from '../../foundation/metrics.ts'
import { type LevelName, priorityLevels } from './priority-levels.ts'

export type RefusalReason = 'requests' | 'bytes' | 'items' | 'deadline'

/** Metrics about who had to wait. */
export class FlowMetrics {
  readonly #loop: ReturnType<Metrics['heldCounter']>
  readonly #waits: ReturnType<Metrics['heldHistogram']>
  readonly #refused: ReturnType<Metrics['heldCounter']>

  constructor(metrics: Metrics, waiting: (level: LevelName) => number) {
    const labels = ['level']
    this.#loop = metrics.heldCounter(
      'sluice_apiserver_flow_loop_seconds_total',
      'Time of the event loop that requests used.',
      labels,
    )
    this.#refused = metrics.heldCounter(
      'sluice_apiserver_flow_refused_total',
      'Requests that were asked to come again, by what there was too much of.',
      [...labels, 'reason'],
    )
    const buckets = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]
    const waits = 'How long requests waited for their turn; those that need not wait are left out.'
    this.#waits = metrics.heldHistogram('sluice_apiserver_flow_wait_seconds', waits, buckets, labels)
    metrics.gauge('sluice_apiserver_flow_waiting', 'Requests that wait for their turn.', labels, (gauge) => {
      for (const { name } of priorityLevels) gauge.set({ level: name }, waiting(name))
    })
  }

  used(level: LevelName, ms: number): void {
    this.#loop.series(level).add(ms / 1000)
  }

  waited(level: LevelName, ms: number): void {
    this.#waits.series(level).observe(ms / 1000)
  }

  refused(level: LevelName, reason: RefusalReason): void {
    this.#refused.series(level, reason).add()
  }
}
