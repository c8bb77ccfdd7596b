import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pickEndpoint } from './pick-endpoint.ts'

const at = (name: string, inFlight = 0) => ({ name, inFlight })

describe('pickEndpoint', () => {
  it.each([
    { case: 'nothing to pick', endpoints: [], exclude: [], last: '', picked: undefined },
    { case: 'the least busy', endpoints: [at('a', 2), at('b', 1), at('c', 3)], exclude: [], last: '', picked: 'b' },
    { case: 'the first name at the start', endpoints: [at('b'), at('a')], exclude: [], last: '', picked: 'a' },
    { case: 'the next name of equals', endpoints: [at('c'), at('a'), at('b')], exclude: [], last: 'a', picked: 'b' },
    { case: 'around the end of the names', endpoints: [at('a'), at('b')], exclude: [], last: 'b', picked: 'a' },
    { case: 'load before turn', endpoints: [at('a', 0), at('b', 1)], exclude: [], last: 'a', picked: 'a' },
    { case: 'not the excluded', endpoints: [at('a', 0), at('b', 9)], exclude: ['a'], last: '', picked: 'b' },
    { case: 'none when all are excluded', endpoints: [at('a')], exclude: ['a'], last: '', picked: undefined },
  ])('picks $case', ({ endpoints, exclude, last, picked }) => {
    expect(pickEndpoint(endpoints, new Set(exclude), last)?.name).toBe(picked)
  })

  it('spreads equal load evenly, whatever the order the endpoints are given in', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 8 }), (names) => {
        const loads = new Map(names.map((name) => [name, 0]))
        let last = ''
        for (let round = 0; round < names.length * 3; round++) {
          const endpoints = [...loads].map(([name, inFlight]) => ({ name, inFlight }))
          last = pickEndpoint(round % 2 ? endpoints : endpoints.toReversed(), undefined, last)?.name ?? ''
          loads.set(last, (loads.get(last) ?? 0) + 1)
        }
        expect([...loads.values()].every((load) => load === 3)).toBe(true)
      }),
    )
  })
})
