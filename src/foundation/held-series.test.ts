import { describe, expect, test } from 'vitest'
import { Metrics, sumSnapshots } from './metrics.ts'

function counted() {
  const metrics = new Metrics()
  const requests = metrics.heldCounter('sluice_test_total', 'Counted.', ['route', 'status'])
  const seconds = metrics.heldHistogram('sluice_test_seconds', 'Measured.', [0.1, 1], ['route'])
  requests.series('chat', '200').add()
  requests.series('chat', '200').add(2)
  requests.series('chat', '500').add()
  for (const value of [0.05, 0.1, 0.5, 7]) seconds.series('chat').observe(value)
  return metrics
}

describe('held series', () => {
  test('are written like any other metric', async () => {
    expect((await counted().text()).trim().split('\n')).toEqual([
      '# HELP sluice_test_total Counted.',
      '# TYPE sluice_test_total counter',
      'sluice_test_total{route="chat",status="200"} 3',
      'sluice_test_total{route="chat",status="500"} 1',
      '',
      '# HELP sluice_test_seconds Measured.',
      '# TYPE sluice_test_seconds histogram',
      'sluice_test_seconds_bucket{route="chat",le="0.1"} 2',
      'sluice_test_seconds_bucket{route="chat",le="1"} 3',
      'sluice_test_seconds_bucket{route="chat",le="+Inf"} 4',
      'sluice_test_seconds_sum{route="chat"} 7.65',
      'sluice_test_seconds_count{route="chat"} 4',
    ])
  })

  test('are added up over threads like any other metric', async () => {
    const sum = await sumSnapshots([await counted().snapshot(), await counted().snapshot()])
    const valueOf = (name: string, labels: object) =>
      sum
        .flatMap(({ name: metric, values }) => values.map((row) => ({ metricName: metric, ...row })))
        .find((row) => row.metricName === name && JSON.stringify(row.labels) === JSON.stringify(labels))?.value
    expect(valueOf('sluice_test_total', { route: 'chat', status: '200' })).toBe(6)
    expect(valueOf('sluice_test_seconds_bucket', { route: 'chat', le: 1 })).toBe(6)
    expect(valueOf('sluice_test_seconds_count', { route: 'chat' })).toBe(8)
  })
})
