import { Metrics } from '../foundation/metrics.ts'
import { wakePhases } from './waiting/wake-times.ts'

export interface TrafficState {
  readonly active: number
  readonly waiting: number
}

/** The metrics of this room. Waits are measured if they end with a seat; others count as `refused`. */
export class TrafficMetrics {
  readonly active
  readonly waiting
  readonly waitSeconds
  readonly wakes
  readonly wakeSeconds
  readonly refused
  readonly endpointFailures

  /** Gauges read the states when they are scraped: updating them would cost every request. */
  constructor(metrics: Metrics = new Metrics(), states: () => ReadonlyMap<string, TrafficState> = () => new Map()) {
    this.active = metrics.gauge(
      'sluice_traffic_active_requests',
      'Requests that hold a seat at an endpoint.',
      ['model'],
      (gauge) => {
        for (const [model, { active }] of states()) gauge.set({ model }, active)
      },
    )
    this.waiting = metrics.gauge(
      'sluice_traffic_waiting_requests',
      'Requests that wait for their model.',
      ['model'],
      (gauge) => {
        for (const [model, { waiting }] of states()) gauge.set({ model }, waiting)
      },
    )
    this.waitSeconds = metrics.histogram(
      'sluice_traffic_wait_seconds',
      'How long requests that had to wait for their model waited until they got a seat.',
      [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 600],
      ['model'],
    )
    this.wakes = metrics.counter('sluice_traffic_wakes_total', 'First waiters: times a model was asked to wake.', [
      'model',
    ])
    this.wakeSeconds = metrics.histogram(
      'sluice_traffic_wake_seconds',
      'From the first waiter until a Pod was placed, was started, was loaded, and sent its first byte.',
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
      ['model', 'phase'],
    )
    this.refused = metrics.counter('sluice_traffic_refused_total', 'Requests that got no seat, by error code.', [
      'model',
      'code',
    ])
    this.endpointFailures = metrics.counter(
      'sluice_traffic_endpoint_failures_total',
      'Endpoints taken out of use until a probe finds them healthy.',
      ['model'],
    )
  }

  /** Removes the series of a deleted Model, so that there are never more than for the existing Models. */
  forget(model: string): void {
    for (const gauge of [this.active, this.waiting]) gauge.remove({ model })
    this.waitSeconds.remove({ model })
    for (const phase of wakePhases) this.wakeSeconds.remove({ model, phase })
    for (const counter of [this.wakes, this.endpointFailures]) counter.remove({ model })
  }
}
