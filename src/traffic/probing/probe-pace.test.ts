import { describe, expect, it } from 'vitest'
import { probePauseMs } from './probe-pace.ts'

describe('probePauseMs', () => {
  it.each([
    ['a Pod that just started', 'starting', 0, true, 2],
    ['one that loads for a second', 'starting', 1_000, true, 10],
    ['one that loads for minutes', 'starting', 300_000, true, 10],
    ['a failed one that somebody waits for', 'failed', 60_000, true, 50],
    ['a failed one that nobody waits for', 'failed', 0, false, 100],
    ['the same a second later', 'failed', 1_000, false, 1_000],
    ['the same an hour later', 'failed', 3_600_000, false, 5_000],
  ] as const)('of %s', (_case, state, elapsedMs, awaited, pauseMs) => {
    expect(probePauseMs({ state, elapsedMs, awaited })).toBe(pauseMs)
  })
})
