import { expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { Deadline } from './deadline.ts'

it('fires once, at the last time it was set to', async () => {
  const clock = new FakeClock()
  const deadline = new Deadline(clock)
  const fired: string[] = []
  deadline.set(100, () => fired.push('first'))
  await clock.advance(60)
  deadline.set(100, () => fired.push('later'))
  await clock.advance(99)
  expect(fired).toEqual([])
  await clock.advance(1)
  expect(fired).toEqual(['later'])
  await clock.advance(1_000)
  expect(fired).toEqual(['later'])
})

it('can be moved earlier', async () => {
  const clock = new FakeClock()
  const deadline = new Deadline(clock)
  const fired: number[] = []
  deadline.set(1_000, () => fired.push(1_000))
  deadline.set(10, () => fired.push(10))
  await clock.advance(2_000)
  expect(fired).toEqual([10])
})

it('does not fire when cleared, and leaves no timer when disposed', async () => {
  const clock = new FakeClock()
  const deadline = new Deadline(clock)
  let fired = 0
  deadline.set(10, () => fired++)
  deadline.clear()
  await clock.advance(100)
  expect(fired).toBe(0)
  deadline.set(10, () => fired++)
  deadline.dispose()
  expect(clock.pendingTimers).toBe(0)
})
