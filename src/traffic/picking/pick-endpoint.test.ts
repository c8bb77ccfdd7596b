import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pickEndpoint } from './pick-endpoint.ts'

const at = (name: string, inFlight = 0, capacity = Infinity) => ({ name, inFlight, capacity })

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
    { case: 'not the full', endpoints: [at('a', 2, 2), at('b', 9)], exclude: [], last: '', picked: 'b' },
    { case: 'none when all are full', endpoints: [at('a', 1, 1)], exclude: [], last: '', picked: undefined },
  ])('picks $case', ({ endpoints, exclude, last, picked }) => {
    expect(pickEndpoint(endpoints, { exclude: new Set(exclude), lastPicked: last })?.name).toBe(picked)
  })

  it('spreads equal load evenly, whatever the order the endpoints are given in', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 8 }), (names) => {
        const loads = new Map(names.map((name) => [name, 0]))
        let last = ''
        for (let round = 0; round < names.length * 3; round++) {
          const endpoints = [...loads].map(([name, inFlight]) => at(name, inFlight))
          last = pickEndpoint(round % 2 ? endpoints : endpoints.toReversed(), { lastPicked: last })?.name ?? ''
          loads.set(last, (loads.get(last) ?? 0) + 1)
        }
        expect([...loads.values()].every((load) => load === 3)).toBe(true)
      }),
    )
  })
})

describe('pickEndpoint by what is known of the prompt', () => {
  const pick = (endpoints: ReturnType<typeof at>[], known: Record<string, number>, exclude: string[] = []) =>
    pickEndpoint(endpoints, {
      exclude: new Set(exclude),
      knownBlocks: new Map(endpoints.flatMap((one) => (known[one.name] ? [[one, known[one.name] ?? 0]] : []))),
    })?.name

  it.each([
    ['who knows it, though others are idle', [at('a'), at('b', 1)], { b: 3 }, [], 'b'],
    ['the longest known beginning', [at('a'), at('b'), at('c')], { b: 2, c: 5 }, [], 'c'],
    ['the less busy of those who know as much', [at('a', 1), at('b', 2), at('c', 2)], { b: 2, a: 2 }, [], 'a'],
    ['the least busy when who knows it has too much', [at('a', 0), at('b', 5)], { b: 9 }, [], 'a'],
    ['the next best who has not too much', [at('a', 0), at('b', 9), at('c', 1)], { b: 9, c: 1 }, [], 'c'],
    ['nobody who is excluded', [at('a'), at('b')], { b: 9 }, ['b'], 'a'],
    ['nobody who is full', [at('a', 3), at('b', 1, 1)], { b: 9 }, [], 'a'],
    ['who is left alone', [at('a', 7)], { a: 1 }, [], 'a'],
  ])('picks %s', (_case, endpoints, known, exclude, picked) => {
    expect(pick(endpoints, known, exclude)).toBe(picked)
  })

  it('never lets one endpoint grow far beyond the average, though all prompts begin alike', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 1, max: 200 }), (count, requests) => {
        const endpoints = Array.from({ length: count }, (_, index) => at(`pod-${index}`))
        const knownBlocks = new Map(endpoints.slice(0, 1).map((endpoint) => [endpoint, 4]))
        for (let sent = 0; sent < requests; sent++) {
          const picked = pickEndpoint(endpoints, { knownBlocks })
          if (picked) picked.inFlight++
        }
        const most = Math.max(...endpoints.map(({ inFlight }) => inFlight))
        expect(endpoints.reduce((sum, { inFlight }) => sum + inFlight, 0)).toBe(requests)
        expect(most).toBeLessThanOrEqual(Math.ceil((1.25 * requests) / count))
      }),
    )
  })
})
