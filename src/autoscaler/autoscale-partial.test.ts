import { describe, expect, it, onTestFinished } from 'vitest'
import { AutoscaleStage, modelNamed } from './autoscale-stage.fixture.ts'

function setUp(spec: Record<string, unknown>) {
  const stage = new AutoscaleStage()
  onTestFinished(() => stage.loop.stop())
  stage.models.put(modelNamed('m', { maxReplicas: 8, targetRequests: 10, scaleDownDelaySeconds: 0, ...spec }))
  return stage
}

describe('AutoscaleLoop that knows only a part of the demand', () => {
  it('wakes a model and adds replicas', async () => {
    const stage = setUp({ replicas: 0 })
    stage.demand.readings['m'] = { active: 0, waiting: 1, isPartial: true }
    stage.loop.start()
    await stage.clock.advance(1_000)
    expect(stage.replicas('m')).toBe(1)
    stage.demand.readings['m'] = { active: 25, waiting: 0, isPartial: true }
    await stage.clock.advance(1_000)
    expect(stage.replicas('m')).toBe(3)
  })

  it('takes no replica away, for however long', async () => {
    const stage = setUp({ replicas: 4 })
    stage.demand.readings['m'] = { active: 1, waiting: 0, isPartial: true }
    stage.loop.start()
    await stage.clock.advance(3_600_000)
    stage.demand.readings['m'] = { active: 0, waiting: 0, isPartial: true }
    await stage.clock.advance(3_600_000)
    expect(stage.scaled).toEqual([])
  })

  it('still keeps to the limits of the Model', async () => {
    const stage = setUp({ replicas: 9 })
    stage.demand.readings['m'] = { active: 0, waiting: 0, isPartial: true }
    stage.loop.start()
    await stage.clock.advance(1_000)
    expect(stage.replicas('m')).toBe(8)
  })

  it('begins the idle window afresh once everything is known', async () => {
    const stage = setUp({ replicas: 1 })
    stage.demand.readings['m'] = { active: 0, waiting: 0, isPartial: true }
    stage.loop.start()
    await stage.clock.advance(3_600_000)
    stage.demand.readings['m'] = { active: 0, waiting: 0, isPartial: false }
    await stage.clock.advance(599_000)
    expect(stage.replicas('m')).toBe(1)
    await stage.clock.advance(3_000)
    expect(stage.replicas('m')).toBe(0)
  })
})
