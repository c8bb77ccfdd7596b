import { expect, it } from 'vitest'
import { HotLoopBrake } from './hot-loop-brake.ts'

it('remembers no keys of objects that came and went', () => {
  const brake = new HotLoopBrake()
  for (let at = 0; at < 10_000; at += 1) brake.admit(`default/job-${at}`, at * 100)
  // Those of the last twelve seconds.
  expect(brake.size).toBe(120)
})

it('remembers a key that goes on, however many others come and go', () => {
  const brake = new HotLoopBrake()
  const waits = Array.from({ length: 200 }, (_, at) => {
    brake.admit(`default/job-${at}`, at * 10)
    return brake.admit('default/hot', at * 10).waitMs
  })
  expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(110)
})
