import { describe, expect, it } from 'vitest'
import type { CardView } from '../console-shapes.ts'
import { ConsoleHistory, recentEveryMs, sampleOf } from './console-history.ts'

const card: CardView = {
  name: 'nvidia.com/gpu-l40s',
  displayName: 'NVIDIA L40S',
  total: 4,
  holders: [
    { model: 'a', pod: 'a-1', cards: 1, use: 'active' },
    { model: 'a', pod: 'a-2', cards: 1, use: 'idle' },
    { model: undefined, pod: 'job', cards: 1, use: 'other' },
  ],
}
const traffic = {
  sample: (model: string) => (model === 'a' ? { active: 2, waiting: 1 } : { active: 0, waiting: 0 }),
  lastActiveAt: () => undefined,
  inFlightByEndpoint: () => new Map<string, number>(),
}

describe('ConsoleHistory', () => {
  it('sums up who holds cards, and leaves out who asks nothing', () => {
    expect(sampleOf(5, ['a', 'b'], [card], traffic)).toEqual({
      at: 5,
      requests: { a: [2, 1] },
      cards: { 'nvidia.com/gpu-l40s': { a: 2, '': 1 } },
    })
  })

  it('keeps an hour as it was and a day in averages, however long it runs', () => {
    const history = new ConsoleHistory()
    const rounds = 400_000_000 / recentEveryMs
    for (let round = 0; round < rounds; round += 1) {
      const held = round % 2 === 0 ? { a: 2 } : {}
      history.add({ at: round * recentEveryMs, requests: {}, cards: { x: held } })
    }
    const { recent, day } = history.view()
    expect(recent.samples).toHaveLength(360)
    expect(recent.samples.at(-1)?.at).toBe((rounds - 1) * recentEveryMs)
    expect(day.samples).toHaveLength(288)
    expect(day.samples.at(-1)?.cards['x']?.['a']).toBeCloseTo(1)
  })
})
