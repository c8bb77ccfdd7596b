import { type Metrics, type MetricsSnapshot, sumSnapshots } from '../../foundation/metrics.ts'

interface Counting {
  snapshot(): Promise<MetricsSnapshot | undefined>
}

/**
 * Adds up the metrics of all serving threads. A thread that does not answer counts with its last answer, and one that
 * is lost keeps its counters: if a sum ever fell, monitoring would take that for a restart of the whole program.
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

  /** Keeps the counters of a thread that has ended, but not its gauges. */
  async ended(worker: Counting, isLoss: boolean): Promise<void> {
    if (isLoss) this.#losses.inc()
    const last = this.#last.get(worker)
    this.#last.delete(worker)
    if (!last) return
    // prom-client declares an enum for the type, but sets the name from its text format.
    const growing = last.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram')
    this.#lost = await sumSnapshots([this.#lost, growing])
  }
}
