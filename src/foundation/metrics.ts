import { AggregatorRegistry, Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { HeldCounter, HeldHistogram } from './held-series.ts'

/** The values of a registry at one moment, as plain data that can be sent to another thread. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** A registry of metrics, one per role. All names start with `sluice_`. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #others = new Set<() => Promise<readonly MetricsSnapshot[]>>()

  /** `collect` is called when metrics are read, to set a count that is kept elsewhere. */
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

  /** `collect` is called when metrics are read, to set a value that is only determined then. */
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

  /** A counter that is incremented with every request: cheaper, because callers keep its series. */
  heldCounter(name: `sluice_${string}`, help: string, labelNames: readonly string[]): HeldCounter {
    return new HeldCounter({ name, help, labelNames, registers: [this.#registry] })
  }

  /** A histogram that is observed with every request: cheaper, because callers keep its series. */
  heldHistogram(
    name: `sluice_${string}`,
    help: string,
    buckets: readonly number[],
    labelNames: readonly string[],
  ): HeldHistogram {
    return new HeldHistogram({ name, help, buckets, labelNames, registers: [this.#registry] })
  }

  /** Adds memory, CPU and event-loop metrics of this process, with the same prefix. */
  includeProcess(): void {
    collectDefaultMetrics({ register: this.#registry, prefix: 'sluice_' })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Adds the metrics of other threads or processes to those of this registry when they are read. */
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

/** Adds up the metrics of several registries, series by series. */
export function sumSnapshots(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  return registryOf(snapshots).getMetricsAsJSON()
}

function registryOf(snapshots: readonly MetricsSnapshot[]): Registry {
  // A metric that must not be added up is in one registry only, so the first value is its value.
  const summable = snapshots.map((snapshot) =>
    snapshot.map((metric) => (metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' as const } : metric)),
  )
  return AggregatorRegistry.aggregate(summable)
}
