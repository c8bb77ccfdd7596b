import { describe, expect, it } from 'vitest'
import { backoffAfterExit, noBackoff, shouldRestart } from './restart-policy.ts'

describe('backoffAfterExit', () => {
  it('waits not at all the first time, then 10 s doubling up to 5 min', () => {
    const delays: number[] = []
    let backoff = noBackoff
    for (let crash = 0; crash < 9; crash += 1) {
      backoff = backoffAfterExit(backoff, 1000)
      delays.push(backoff.delayMs / 1000)
    }
    expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300, 300])
  })

  it('begins again after a run of ten minutes', () => {
    const crashed = backoffAfterExit(backoffAfterExit(noBackoff, 0), 0)
    expect(backoffAfterExit(crashed, 600_000)).toEqual({ delayMs: 0, nextDelayMs: 10_000 })
  })
})

it.each([
  ['Always', 0, true],
  ['Always', 1, true],
  ['OnFailure', 0, false],
  ['OnFailure', 1, true],
  ['Never', 0, false],
  ['Never', 1, false],
] as const)('policy %s with exit code %i restarts: %s', (policy, code, expected) => {
  expect(shouldRestart(policy, code)).toBe(expected)
})
