import { describe, expect, it } from 'vitest'
import { Metrics } from '../../foundation/metrics.ts'
import { ServingMetrics } from './serving-metrics.ts'

function setUp() {
  const metrics = new Metrics()
  metrics.includeProcess()
  const workerMetrics = new ServingMetrics(metrics)
  const worker = () => {
    const own = new Metrics()
    const requests = own.counter('sluice_gateway_requests_total', 'Requests.', ['model'])
    const open = own.gauge('sluice_gateway_in_flight_requests', 'Open.')
    const seconds = own.histogram('sluice_gateway_request_seconds', 'Seconds.', [1, 2])
    const one = { requests, open, seconds, silent: false, snapshot: () => (one.silent ? none : own.snapshot()) }
    return one
  }
  const none = Promise.resolve(undefined)
  const workers = [worker(), worker()] as const
  const running = new Set<(typeof workers)[number]>(workers)
  metrics.includeOthers(() => workerMetrics.collect(running))
  return { metrics, workerMetrics, workers, running }
}

describe('what several threads count', () => {
  it('is one answer with the sums, and with what only the process knows', async () => {
    const { metrics, workers } = setUp()
    for (const { requests, open, seconds } of workers) {
      requests.inc({ model: 'tiny' }, 2)
      open.set(3)
      seconds.observe(1.5)
    }
    workers[0].requests.inc({ model: 'other' })
    const text = await metrics.text()
    expect(text).toContain('sluice_gateway_requests_total{model="tiny"} 4')
    expect(text).toContain('sluice_gateway_requests_total{model="other"} 1')
    expect(text).toContain('sluice_gateway_in_flight_requests 6')
    expect(text).toContain('sluice_gateway_request_seconds_bucket{le="2"} 2')
    expect(text).toContain('sluice_gateway_request_seconds_bucket{le="1"} 0')
    expect(text).toContain('sluice_gateway_request_seconds_count 2')
    expect(text).toMatch(/^sluice_process_start_time_seconds \d+/m)
    expect(text.match(/^# TYPE sluice_gateway_requests_total counter$/gm)).toHaveLength(1)
  })

  it('never falls because a thread is silent or lost; what a lost one had open is gone', async () => {
    const { metrics, workerMetrics, workers, running } = setUp()
    const [one, other] = workers
    for (const { requests, open, seconds } of workers) {
      requests.inc({ model: 'tiny' }, 5)
      open.set(1)
      seconds.observe(1.5)
    }
    await metrics.text()
    one.silent = true
    other.requests.inc({ model: 'tiny' })
    const silent = await metrics.text()
    expect(silent).toContain('sluice_gateway_requests_total{model="tiny"} 11')
    expect(silent).toContain('sluice_gateway_worker_silences_total 1')
    running.delete(one)
    await workerMetrics.ended(one, true)
    const lost = await metrics.text()
    expect(lost).toContain('sluice_gateway_requests_total{model="tiny"} 11')
    expect(lost).toContain('sluice_gateway_request_seconds_count 2')
    expect(lost).toContain('sluice_gateway_in_flight_requests 1')
    expect(lost).toContain('sluice_gateway_worker_losses_total 1')
  })
})
