import { describe, expect, it, vi } from 'vitest'
import { atOneTime, systemClock } from './clock.ts'
import { FakeClock } from './fake-clock.ts'

describe('FakeClock', () => {
  it('fires timers in order of their due time, only when time is advanced', async () => {
    const clock = new FakeClock(0)
    const fired: string[] = []
    clock.after(20, () => fired.push('late'))
    clock.after(10, () => fired.push('early'))
    await clock.advance(9)
    expect(fired).toEqual([])
    await clock.advance(11)
    expect(fired).toEqual(['early', 'late'])
    expect(clock.now()).toBe(20)
  })

  it('lets a sleeper that sleeps again wake within one advance', async () => {
    const clock = new FakeClock(0)
    let rounds = 0
    const loop = (async () => {
      for (; rounds < 3; rounds++) await clock.sleep(10)
    })()
    await clock.advance(30)
    await loop
    expect(rounds).toBe(3)
  })

  it('rejects a sleep whose signal is aborted and leaves no timer behind', async () => {
    const clock = new FakeClock()
    const controller = new AbortController()
    const sleeping = clock.sleep(1000, controller.signal)
    controller.abort(new Error('enough'))
    await expect(sleeping).rejects.toThrow('enough')
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('systemClock', () => {
  it('does not call back after it was cancelled', async () => {
    let called = false
    const cancel = systemClock.after(0, () => (called = true))
    cancel()
    await systemClock.sleep(5)
    expect(called).toBe(false)
  })
})

describe('an event at one time', () => {
  it('is one time for everybody who asks during an event, and moves on after it', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000 })
    try {
      const seen = atOneTime((step: number) => {
        const before = systemClock.now()
        vi.setSystemTime(1_000 + step)
        return [before, systemClock.now()]
      }, 5)
      expect(seen).toEqual([1_000, 1_000])
      expect(systemClock.now()).toBe(1_005)
    } finally {
      vi.useRealTimers()
    }
  })

  it('moves on after an event that fails, and after one within another', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 2_000 })
    try {
      const fail = () => {
        atOneTime(() => vi.setSystemTime(2_001), undefined)
        expect(systemClock.now()).toBe(2_000)
        throw new Error('no')
      }
      expect(() => atOneTime(fail, undefined)).toThrow('no')
      expect(systemClock.now()).toBe(2_001)
    } finally {
      vi.useRealTimers()
    }
  })
})
