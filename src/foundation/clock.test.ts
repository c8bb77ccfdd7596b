import { describe, expect, it } from 'vitest'
import { systemClock } from './clock.ts'
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
    // Timers of the same delay fire in the order in which they were set.
    await new Promise<void>((resolve) => void systemClock.after(0, resolve))
    expect(called).toBe(false)
  })
})
