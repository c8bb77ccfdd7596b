import { AggregatorRegistry, Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { HeldCounter, HeldHistogram } from './held-series.ts'

/** What a registry holds at one moment, as plain data that can be sent to another thread. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** One registry per role; every name starts with `sluice_`. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #others = new Set<() => Promise<readonly MetricsSnapshot[]>>()

  /** `collect` sets what is counted elsewhere. */
  counter<L extends string>(
    name: `sluice_${string}`,
    help: string,
    labelNames: readonly L[] = [],
    collect?: (counter: Counter<L>) => void,
  ): Counter<L> {
    return new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      ...(collect && {
        collect() {
          collect(this)
        },
      }),
    })
  }

  /** `collect` sets what is only known when it is asked for. */
  gauge<L extends string>(
    name: `sluice_${string}`,
    help: string,
    labelNames: readonly L[] = [],
    collect?: (gauge: Gauge<L>) => void,
  ): Gauge<L> {
    return new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      ...(collect && {
        collect() {
          collect(this)
        },
      }),
    })
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

  /** For what every request counts; its series are held by who counts. */
  heldCounter(name: `sluice_${string}`, help: string, labelNames: readonly string[]): HeldCounter {
    return new HeldCounter({ name, help, labelNames, registers: [this.#registry] })
  }

  /** The same for what every request measures. */
  heldHistogram(
    name: `sluice_${string}`,
    help: string,
    buckets: readonly number[],
    labelNames: readonly string[],
  ): HeldHistogram {
    return new HeldHistogram({ name, help, buckets, labelNames, registers: [this.#registry] })
  }

  /** Memory, CPU and event-loop figures of this process, under the same prefix. */
  includeProcess(): void {
    collectDefaultMetrics({ register: this.#registry, prefix: 'sluice_' })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** What is counted elsewhere is added to what is counted here. */
  includeOthers(snapshots: () => Promise<readonly MetricsSnapshot[]>): void {
    this.#others.add(snapshots)
  }

  snapshot(): Promise<MetricsSnapshot> {
    return this.#registry.getMetricsAsJSON()
  }

  async text(): Promise<string> {
    if (this.#others.size === 0) return this.#registry.metrics()
    const others = await Promise.all([...this.#others].map((snapshots) => snapshots()))
    return registryOf([await this.snapshot(), ...others.flat()]).metrics()
  }
}

/** Several registries as one, series by series. */
export function sumSnapshots(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  return registryOf(snapshots).getMetricsAsJSON()
}

function registryOf(snapshots: readonly MetricsSnapshot[]): Registry {
  // What is not to be added up is in one registry only, so its value is that of the first.
  const summable = snapshots.map((snapshot) =>
    snapshot.map((metric) => (metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' as const } : metric)),
  )
  return AggregatorRegistry.aggregate(summable)
}
