import { expect, it } from 'vitest'
import { DrainTime } from './drain-time.ts'

it('adds up the time between looks', () => {
  const time = new DrainTime()
  expect([0, 500, 1_000, 1_700].map((now) => time.elapsedMs('a', now))).toEqual([0, 500, 1_000, 1_700])
})

it('is not moved by a clock that is set', () => {
  const time = new DrainTime()
  time.elapsedMs('a', 1_000)
  expect(time.elapsedMs('a', 1_000 + 3_600_000)).toBe(5_000)
  expect(time.elapsedMs('a', 0)).toBe(5_000)
  expect(time.elapsedMs('a', 500)).toBe(5_500)
})

it('counts each drain for itself', () => {
  const time = new DrainTime()
  time.elapsedMs('a', 0)
  expect([time.elapsedMs('b', 1_000), time.elapsedMs('a', 1_000)]).toEqual([0, 1_000])
})
