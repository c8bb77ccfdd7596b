import { Metrics } from '../../foundation/metrics.ts'

/** The metrics of what only a leader does. A controller may lead more than once; it exports them while it does. */
export class LeadingMetrics {
  #current: Metrics | undefined

  constructor(whole: Metrics) {
    whole.includeOthers(async () => (this.#current ? [await this.#current.snapshot()] : []))
  }

  /** Begins anew, with nothing counted. */
  begin(): Metrics {
    this.#current = new Metrics()
    return this.#current
  }

  end(): void {
    this.#current = undefined
  }
}
