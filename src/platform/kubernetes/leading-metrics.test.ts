import { describe, expect, it } from 'vitest'
import { AutoscalerMetrics } from '../../autoscaler/autoscaler-metrics.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { LeadingMetrics } from './leading-metrics.ts'

describe('LeadingMetrics', () => {
  it('lets a controller lead a second time, and tells only of what it leads now', async () => {
    const whole = new Metrics()
    whole.counter('sluice_always_total', 'Counted by leaders and others').inc()
    const leading = new LeadingMetrics(whole)
    new AutoscalerMetrics(leading.begin()).replicas('first', 1)
    expect(await whole.text()).toContain('sluice_autoscaler_wanted_replicas{model="first"} 1')
    leading.end()
    expect(await whole.text()).not.toContain('sluice_autoscaler')
    new AutoscalerMetrics(leading.begin()).replicas('second', 2)
    const text = await whole.text()
    expect(text).toContain('sluice_autoscaler_wanted_replicas{model="second"} 2')
    expect(text).not.toContain('first')
    expect(text).toContain('sluice_always_total 1')
  })
})
