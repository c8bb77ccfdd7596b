import type { Metrics } from '../foundation/metrics.ts'
import type { RequestLabel } from './cluster-face.ts'
import type { WatchSlots } from './watch-slots.ts'

type Counter = ReturnType<Metrics['counter']>
type Histogram = ReturnType<Metrics['histogram']>

/** What is measured about requests. Labels come from the kinds served, never from what a client wrote. */
export class ApiServerMetrics {
  readonly #requests: Counter
  readonly #seconds: Histogram
  readonly #watches: ReturnType<Metrics['gauge']>
  readonly #slots: WatchSlots

  constructor(metrics: Metrics, slots: WatchSlots) {
    const labels = ['verb', 'resource', 'code']
    this.#requests = metrics.counter('sluice_apiserver_requests_total', 'Requests answered by the API server.', labels)
    const buckets = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]
    const help = 'Time to answer a request; watches, logs and upgraded connections are left out.'
    this.#seconds = metrics.histogram('sluice_apiserver_request_seconds', help, buckets, ['verb'])
    this.#watches = metrics.gauge('sluice_apiserver_watches', 'Watches that are open over HTTP.')
    this.#slots = slots
  }

  finished({ verb, resource }: RequestLabel, code: number, ms: number): void {
    const known = knownVerbs.has(verb) ? verb : 'other'
    this.#requests.inc({ verb: known, resource, code })
    const endless = known === 'watch' || resource.endsWith('/log') || code === 101
    if (!endless) this.#seconds.observe({ verb: known }, ms / 1000)
    this.#watches.set(this.#slots.total)
  }
}

const knownVerbs = new Set(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'])
