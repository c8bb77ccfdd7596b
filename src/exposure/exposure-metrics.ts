import { Metrics } from '../foundation/metrics.ts'

export class ExposureMetrics {
  readonly requests
  /** Requests being served. */
  inFlight = 0

  constructor(metrics: Metrics = new Metrics()) {
    this.requests = metrics.heldCounter(
      'sluice_exposure_requests_total',
      'Finished requests by cluster and ServiceExporter (empty: no such host); status 499: the client left.',
      ['cluster', 'exporter', 'status'],
    )
    const name = 'sluice_exposure_in_flight_requests'
    metrics.gauge(name, 'Requests being served.', [], (gauge) => gauge.set(this.inFlight))
  }
}
