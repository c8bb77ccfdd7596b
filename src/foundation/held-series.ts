import { Counter, Histogram, type Registry } from 'prom-client'

/** One series of a counter. A caller that counts often looks it up once and keeps it. */
export class CounterSeries {
  value = 0

  add(amount = 1): void {
    this.value += amount
  }
}

/** One series of a histogram. A caller that measures often looks it up once and keeps it. */
export class HistogramSeries {
  readonly #bounds: readonly number[]
  /** How many values fell into each bucket, not cumulated; the last bucket has those above all bounds. */
  readonly counts: Float64Array
  sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    let at = 0
    while (at < this.#bounds.length && value > (this.#bounds[at] ?? 0)) at++
    this.counts[at] = (this.counts[at] ?? 0) + 1
    this.sum += value
  }
}

interface HeldOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  readonly registers: Registry[]
}

/**
 * The series of a metric by their label values, for what is counted with every request. Finding a series takes a few
 * map lookups, and counting is an addition. prom-client validates and hashes the labels each time, which for the five
 * series of a request takes longer than parsing its head.
 */
class SeriesTable<S> {
  readonly #labelNames: readonly string[]
  readonly #make: () => S
  readonly #first: Branch<S> = new Map()
  readonly #all: Array<{ readonly labels: Record<string, string>; readonly series: S }> = []

  constructor(labelNames: readonly string[], make: () => S) {
    this.#labelNames = labelNames
    this.#make = make
  }

  of(values: readonly string[]): S {
    let branch: Branch<S> | undefined = this.#first
    let found: Twig<S> | undefined
    for (const value of values) {
      found = branch?.get(value)
      branch = found?.further
    }
    return found?.series ?? this.#grow(values)
  }

  all() {
    return this.#all
  }

  #grow(values: readonly string[]): S {
    let branch = this.#first
    for (const value of values.slice(0, -1)) {
      const twig = branch.get(value) ?? { further: new Map() }
      branch.set(value, twig)
      branch = twig.further ?? new Map()
    }
    const series = this.#make()
    branch.set(values.at(-1) ?? '', { series })
    const labels = Object.fromEntries(this.#labelNames.map((name, index) => [name, values[index] ?? '']))
    this.#all.push({ labels, series })
    return series
  }
}

/** The entries for the values of one label. */
type Branch<S> = Map<string, Twig<S>>

interface Twig<S> {
  readonly series?: S
  readonly further?: Branch<S>
}

export class HeldCounter extends Counter {
  readonly #table: SeriesTable<CounterSeries>

  constructor({ name, help, labelNames, registers }: HeldOptions) {
    super({ name, help, labelNames: [...labelNames], registers })
    this.#table = new SeriesTable(labelNames, () => new CounterSeries())
  }

  /** The series with these label values, in the order of the label names. */
  series(...values: readonly string[]): CounterSeries {
    return this.#table.of(values)
  }

  override async get() {
    const values = this.#table.all().map(({ labels, series }) => ({ labels, value: series.value }))
    return { ...(await super.get()), values }
  }
}

export class HeldHistogram extends Histogram {
  readonly #table: SeriesTable<HistogramSeries>
  readonly #name: string
  readonly #buckets: readonly number[]
  /** A histogram without values, for the rest of what `get` returns. */
  readonly #blank: Histogram

  constructor(options: HeldOptions & { readonly buckets: readonly number[] }) {
    const { name, help, labelNames, buckets, registers } = options
    super({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers })
    this.#table = new SeriesTable(labelNames, () => new HistogramSeries(buckets))
    this.#name = name
    this.#buckets = buckets
    this.#blank = new Histogram({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers: [] })
  }

  /** The series with these label values, in the order of the label names. */
  series(...values: readonly string[]): HistogramSeries {
    return this.#table.of(values)
  }

  override async get() {
    const values = this.#table.all().flatMap(({ labels, series }) => this.#rowsOf(labels, series))
    return { ...(await this.#blank.get()), values }
  }

  /** Called by the registry when it writes the text format. */
  getForPromString() {
    return this.get()
  }

  #rowsOf(labels: Record<string, string>, { counts, sum }: HistogramSeries) {
    let seen = 0
    const buckets = Array.from(counts, (count, at) => {
      seen += count
      return { labels: { ...labels, le: this.#buckets[at] ?? '+Inf' }, value: seen, metricName: `${this.#name}_bucket` }
    })
    return [
      ...buckets,
      { labels, value: sum, metricName: `${this.#name}_sum` },
      { labels, value: seen, metricName: `${this.#name}_count` },
    ]
  }
}
