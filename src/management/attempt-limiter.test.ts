import { describe, expect, it } from 'vitest'
import { AttemptLimiter } from './attempt-limiter.ts'

function setUp(remembered = 100) {
  const time = { now: 1_000_000 }
  const limits = { perKey: { burst: 3, refillMs: 2_000 }, perSource: { burst: 6, refillMs: 500 }, remembered }
  return { time, limiter: new AttemptLimiter(() => time.now, limits) }
}

function fail(limiter: AttemptLimiter, source: string, key: string, times: number): void {
  for (let time = 0; time < times; time += 1) limiter.failed(source, key)
}

describe('AttemptLimiter', () => {
  it('lets a key be wrong so often from a source, and then again as time goes by', () => {
    const { time, limiter } = setUp()
    expect([limiter.failed('10.0.0.1', 'a'), limiter.failed('10.0.0.1', 'a')]).toEqual([false, false])
    expect(limiter.waitSeconds('10.0.0.1', 'a')).toBeUndefined()
    expect(limiter.failed('10.0.0.1', 'a')).toBe(true)
    expect(limiter.waitSeconds('10.0.0.1', 'a')).toBe(2)
    expect(limiter.waitSeconds('10.0.0.1', 'b')).toBeUndefined()
    expect(limiter.waitSeconds('10.0.0.2', 'a')).toBeUndefined()
    time.now += 2_000
    expect(limiter.waitSeconds('10.0.0.1', 'a')).toBeUndefined()
    limiter.failed('10.0.0.1', 'a')
    expect(limiter.waitSeconds('10.0.0.1', 'a')).toBe(2)
  })

  it('lets a source be wrong so often with whatever keys, but hears a key that was right from there', () => {
    const { limiter } = setUp()
    limiter.succeeded('10.0.0.1', 'good')
    for (let key = 0; key < 6; key += 1) limiter.failed('10.0.0.1', `guess-${key}`)
    expect(limiter.waitSeconds('10.0.0.1', 'another')).toBe(1)
    expect(limiter.waitSeconds('10.0.0.1', 'good')).toBeUndefined()
    fail(limiter, '10.0.0.1', 'good', 3)
    expect(limiter.waitSeconds('10.0.0.1', 'good')).toBe(2)
  })

  it('takes a network of IPv6 for one source, and an address of IPv4 for the same in both spellings', () => {
    const { limiter } = setUp()
    fail(limiter, '2001:db8:0:1::5', 'a', 3)
    expect(limiter.waitSeconds('2001:db8:0:1:ffff::6', 'a')).toBe(2)
    expect(limiter.waitSeconds('2001:db8:0:2::5', 'a')).toBeUndefined()
    fail(limiter, '::ffff:10.0.0.1', 'a', 3)
    expect(limiter.waitSeconds('10.0.0.1', 'a')).toBe(2)
  })

  it('remembers no more than its bound, however many come', () => {
    const { limiter } = setUp(50)
    for (let source = 0; source < 5_000; source += 1) {
      limiter.failed(`10.0.${source >> 8}.${source & 255}`, 'a')
      limiter.succeeded(`10.1.${source >> 8}.${source & 255}`, 'a')
    }
    expect(limiter.size).toBeLessThanOrEqual(100)
  })
})
