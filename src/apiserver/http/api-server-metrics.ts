import type { Metrics } from '../../foundation/metrics.ts'
import type { RequestLabel } from './cluster-face.ts'

type Counter = ReturnType<Metrics['heldCounter']>
type Histogram = ReturnType<Metrics['heldHistogram']>

/** Metrics about requests. Labels come from the kinds served, never from what a client wrote. */
export class ApiServerMetrics {
  readonly #requests: Counter
  readonly #seconds: Histogram
  readonly #handshakesDropped: ReturnType<Counter['series']>

  constructor(metrics: Metrics, openWatches: () => number) {
    const labels = ['verb', 'resource', 'code']
    const what = 'Requests answered by the API server.'
    this.#requests = metrics.heldCounter('sluice_apiserver_requests_total', what, labels)
    const buckets = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]
    const help = 'Time to answer a request; watches, logs and upgraded connections are left out.'
    this.#seconds = metrics.heldHistogram('sluice_apiserver_request_seconds', help, buckets, ['verb'])
    const dropped = 'Connections that were dropped because too many were shaking hands.'
    this.#handshakesDropped = metrics.heldCounter('sluice_apiserver_handshakes_dropped_total', dropped, []).series()
    metrics.gauge('sluice_apiserver_watches', 'Watches that are open over HTTP.', [], (gauge) =>
      gauge.set(openWatches()),
    )
  }

  handshakeDropped(): void {
    this.#handshakesDropped.add()
  }

  finished({ verb, resource }: RequestLabel, code: number, ms: number): void {
    const known = knownVerbs.has(verb) ? verb : 'other'
    this.#requests.series(known, resource, String(code)).add()
    const endless = known === 'watch' || resource.endsWith('/log') || code === 101
    if (!endless) this.#seconds.series(known).observe(ms / 1000)
  }
}

const knownVerbs = new Set(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'])
