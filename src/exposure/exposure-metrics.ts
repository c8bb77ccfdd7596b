import { Metrics } from '../foundation/metrics.ts'

export class ExposureMetrics {
  readonly requests
  readonly inFlight

  constructor(metrics: Metrics = new Metrics()) {
    this.requests = metrics.counter(
      'sluice_exposure_requests_total',
      'Finished requests by ServiceExporter (empty: no such host); status 499: the client left.',
      ['exporter', 'status'],
    )
    this.inFlight = metrics.gauge('sluice_exposure_in_flight_requests', 'Requests being served.')
  }
}
