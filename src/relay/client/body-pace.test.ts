import { describe, expect, it } from 'vitest'
import { BodyPace } from './body-pace.ts'

const limits = { bodyGraceMs: 10_000, minBodyBytesPerSecond: 1_000, bodyTotalMs: 60_000 }

describe('BodyPace', () => {
  it('gives who sends nothing the grace', () => {
    const pace = new BodyPace(limits, 0)
    expect(pace.msLeft(0, true)).toBe(10_000)
    expect(pace.msLeft(9_000, true)).toBe(1_000)
    expect(pace.msLeft(11_000, true)).toBe(0)
  })

  it('gives who sends a byte now and then no more than that', () => {
    const pace = new BodyPace(limits, 0)
    for (let now = 0; now < 10_000; now += 500) pace.progress(1, now)
    expect(pace.msLeft(10_000, true)).toBeLessThanOrEqual(20)
  })

  it('never hurries who keeps up the rate, until the total time is over', () => {
    const pace = new BodyPace(limits, 0)
    for (let now = 1_000; now <= 55_000; now += 1_000) {
      pace.progress(1_000, now)
      expect(pace.msLeft(now, false)).toBe(10_000)
    }
    expect(pace.msLeft(55_000, true)).toBe(5_000)
  })

  it('lets nobody live on what was sent at first', () => {
    const pace = new BodyPace(limits, 0)
    pace.progress(10_000_000, 1_000)
    expect(pace.msLeft(1_000, true)).toBe(10_000)
    expect(pace.lagMs(8_000)).toBe(7_000)
  })

  it('does not count the time for which nothing was wanted', () => {
    const pace = new BodyPace(limits, 0)
    pace.excuse(50_000, 50_000)
    expect(pace.msLeft(50_000, true)).toBe(10_000)
    expect(pace.msLeft(59_000, true)).toBe(1_000)
  })
})
