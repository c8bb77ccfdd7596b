import { describe, expect, it } from 'vitest'
import { pickUpstream } from './pick-upstream.ts'

const [one, two] = [
  { host: '10.0.0.1', port: 80 },
  { host: '10.0.0.2', port: 80 },
]

describe('pickUpstream', () => {
  it.each([
    ['nothing', [], {}, 0, [], undefined],
    ['the first in its turn', [one, two], {}, 0, [], one],
    ['the second in its turn', [one, two], {}, 1, [], two],
    ['the less used', [one, two], { '10.0.0.1 80': 2, '10.0.0.2 80': 1 }, 0, [], two],
    ['not the excluded', [one, two], {}, 0, ['10.0.0.1 80'], two],
    ['none when all are excluded', [one], {}, 0, ['10.0.0.1 80'], undefined],
  ])('picks %s', (_case, endpoints, inFlight, turn, exclude, picked) => {
    expect(pickUpstream(endpoints, new Map(Object.entries(inFlight)), turn, new Set(exclude))).toBe(picked)
  })
})
