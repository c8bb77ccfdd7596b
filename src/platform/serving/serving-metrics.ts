import { type Metrics, type MetricsSnapshot, sumSnapshots } from '../../foundation/metrics.ts'

interface Counting {
  snapshot(): Promise<MetricsSnapshot | undefined>
}

/**
 * What the serving threads have counted together. What one last said counts on when it is silent, and of one that is
 * lost what only ever grows: a sum that falls would be taken for a restart of everything.
 */
export class ServingMetrics {
  readonly running
  readonly #losses
  readonly #silences
  readonly #last = new Map<Counting, MetricsSnapshot>()
  #lost: MetricsSnapshot = []

  constructor(metrics: Metrics) {
    this.running = metrics.gauge('sluice_gateway_workers', 'Threads that serve the gateway and exposed services.')
    this.#losses = metrics.counter(
      'sluice_gateway_worker_losses_total',
      'Serving threads that ended by themselves, with their connections.',
    )
    this.#silences = metrics.counter(
      'sluice_gateway_worker_silences_total',
      'Times a serving thread did not say within a second what it counts; what it last said was used.',
    )
  }

  async collect(workers: Iterable<Counting>): Promise<readonly MetricsSnapshot[]> {
    await Promise.all(
      [...workers].map(async (worker) => {
        const snapshot = await worker.snapshot()
        if (snapshot) this.#last.set(worker, snapshot)
        else this.#silences.inc()
      }),
    )
    return [this.#lost, ...this.#last.values()]
  }

  /** It has ended: what it counted stays, what it had does not. */
  async ended(worker: Counting, isLoss: boolean): Promise<void> {
    if (isLoss) this.#losses.inc()
    const last = this.#last.get(worker)
    this.#last.delete(worker)
    if (!last) return
    // Named by prom-client as in its text format.
    const growing = last.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram')
    this.#lost = await sumSnapshots([this.#lost, growing])
  }
}
