import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import type { Probe } from '../../resources/pod.ts'
import type { ProbeResult } from './probe-result.ts'
import { runProbe } from './probe-loop.ts'
import { type ProbeState, advanceProbe, initialProbeState, nextProbeDelayMs, probeTiming } from './probe-state.ts'

const timing = probeTiming({ periodSeconds: 10, failureThreshold: 3, successThreshold: 2 })

/** The state after these results, one period apart. */
function after(results: string): ProbeState {
  return results
    .split('')
    .reduce((state, result, index) => advanceProbe(state, timing, result === '+', index * 10_000), initialProbeState)
}

describe('advanceProbe', () => {
  it.each([
    ['', 'unknown'],
    ['+', 'unknown'],
    ['++', 'success'],
    ['+-+', 'unknown'],
    ['++-', 'success'],
    ['++--', 'success'],
    ['++---', 'failure'],
    ['++--+-', 'success'],
    ['---', 'failure'],
    ['---+', 'failure'],
    ['---++', 'success'],
  ])('after %j the outcome is %s', (results, outcome) => {
    expect(after(results).outcome).toBe(outcome)
  })

  it('does not use up the threshold by looking more often than the period', () => {
    let state = initialProbeState
    for (let now = 0; now < 20_000; now += 100) state = advanceProbe(state, timing, false, now)
    expect(state).toMatchObject({ outcome: 'unknown', failures: 2 })
    expect(advanceProbe(state, timing, false, 20_000).outcome).toBe('failure')
  })
})

describe('nextProbeDelayMs', () => {
  const success = { ...initialProbeState, outcome: 'success' as const }
  it.each([
    ['readiness', initialProbeState, 0, 20],
    ['readiness', initialProbeState, 10_000, 500],
    ['startup', initialProbeState, 600_000, 10_000],
    ['readiness', success, 0, 10_000],
    ['liveness', initialProbeState, 0, 10_000],
  ] as const)('%s, %o, %i ms after the start: %i', (role, state, startedMsAgo, delay) => {
    expect(nextProbeDelayMs(role, state, timing, startedMsAgo)).toBe(delay)
  })

  it('runs a command less often than it asks a port', () => {
    const command = probeTiming({ exec: { command: ['true'] } })
    expect(nextProbeDelayMs('startup', initialProbeState, command, 0)).toBe(100)
  })
})

describe('runProbe', () => {
  function probing(role: 'startup' | 'readiness', probe: Probe, results: () => Promise<ProbeResult> | ProbeResult) {
    const clock = new FakeClock()
    const startedAt = clock.now()
    const seen: string[] = []
    const stop = new AbortController()
    const done = runProbe(
      {
        probe,
        role,
        clock,
        check: async () => results(),
        onResult: (_result, { outcome }, changed) => {
          if (changed) seen.push(`${clock.now() - startedAt}: ${outcome}`)
        },
      },
      stop.signal,
    )
    return { clock, seen, stop, done }
  }

  it('notices at once that a starting container answers, then looks at its period', async () => {
    let looks = 0
    const { clock, seen, stop, done } = probing('readiness', { periodSeconds: 10 }, () => {
      looks += 1
      return looks > 3 ? { ok: true } : { ok: false, message: 'refused' }
    })
    await clock.advance(5000)
    expect(seen).toEqual(['60: success'])
    expect(looks).toBe(4)
    await clock.advance(5060)
    expect(looks).toBe(5)
    stop.abort()
    await done
    expect(clock.pendingTimers).toBe(0)
  })

  it('waits for the initial delay', async () => {
    const { clock, seen, stop, done } = probing('readiness', { initialDelaySeconds: 5 }, () => ({ ok: true }))
    await clock.advance(4999)
    expect(seen).toEqual([])
    await clock.advance(1)
    expect(seen).toEqual(['5000: success'])
    stop.abort()
    await done
  })

  it('gives a startup up after threshold times period, and ends', async () => {
    const probe = { periodSeconds: 2, failureThreshold: 5 }
    const { clock, seen, done } = probing('startup', probe, () => ({ ok: false, message: 'refused' }))
    await clock.advance(60_000)
    await done
    expect(seen).toHaveLength(1)
    expect(Number(seen[0]?.split(':')[0])).toBeGreaterThanOrEqual(8000)
    expect(Number(seen[0]?.split(':')[0])).toBeLessThan(10_000)
  })
})
