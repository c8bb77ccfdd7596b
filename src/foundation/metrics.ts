import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/** One registry per role; every name starts with `sluice_`. */
export class Metrics {
  readonly #registry = new Registry()

  counter<L extends string>(name: `sluice_${string}`, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.#registry] })
  }

  gauge<L extends string>(name: `sluice_${string}`, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [this.#registry] })
  }

  histogram<L extends string>(
    name: `sluice_${string}`,
    help: string,
    buckets: readonly number[],
    labelNames: readonly L[] = [],
  ): Histogram<L> {
    return new Histogram({
      name,
      help,
      buckets: [...buckets],
      labelNames: [...labelNames],
      registers: [this.#registry],
    })
  }

  /** Memory, CPU and event-loop figures of this process, under the same prefix. */
  includeProcess(): void {
    collectDefaultMetrics({ register: this.#registry, prefix: 'sluice_' })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }
}
