import { describe, expect, it } from 'vitest'
import type { CardUsage } from '../resources/usage-record.ts'
import { CardUsageMeter } from './card-usage-meter.ts'

function setUp(models: Array<{ model: string; cards: number }>) {
  const told: Array<readonly CardUsage[]> = []
  const meter = new CardUsageMeter({ models: () => models, tell: (cards) => told.push(cards) })
  const hold = (seconds: number, held: Record<string, number>) => {
    for (let second = 0; second < seconds; second++) meter.step(1, new Map(Object.entries(held)))
  }
  return { told, meter, hold }
}

describe('CardUsageMeter', () => {
  it('counts what is held, and what a replica that never sleeps would have held in addition', () => {
    const { told, hold } = setUp([
      { model: 'busy', cards: 2 },
      { model: 'sleeper', cards: 4 },
    ])
    hold(4, { busy: 2 })
    hold(6, {})
    expect(told).toEqual([
      [
        { model: 'busy', seconds: 8, savedSeconds: 12 },
        { model: 'sleeper', seconds: 0, savedSeconds: 40 },
      ],
    ])
  })

  it('does not call it saved or lost when a model has several replicas', () => {
    const { told, hold } = setUp([{ model: 'busy', cards: 1 }])
    hold(10, { busy: 3 })
    expect(told).toEqual([[{ model: 'busy', seconds: 30, savedSeconds: 0 }]])
  })

  it('counts what a Model held that was deleted meanwhile, and tells the rest at the end', () => {
    const models = [{ model: 'gone', cards: 1 }]
    const { told, meter, hold } = setUp(models)
    hold(3, { gone: 1 })
    models.length = 0
    meter.finish()
    meter.finish()
    expect(told).toEqual([[{ model: 'gone', seconds: 3, savedSeconds: 0 }]])
  })
})
