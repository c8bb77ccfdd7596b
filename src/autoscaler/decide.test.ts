import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DecideInput, type ScaleSettings, decide } from './decide.ts'
import type { DemandSample } from './demand.ts'

const now = Date.UTC(2030, 0, 1)
const second = 1000

const settings: ScaleSettings = {
  minReplicas: 0,
  maxReplicas: 10,
  targetRequests: 10,
  scaleDownDelayMs: 30 * second,
  idleWindowMs: 600 * second,
}

/** One sample a second from `fromSecond` ago until now, with what `load` says about each. */
function watched(fromSecond: number, load: (secondsAgo: number) => Partial<DemandSample>): DemandSample[] {
  return Array.from({ length: fromSecond + 1 }, (_, index) => fromSecond - index).map((ago) => ({
    at: now - ago * second,
    active: 0,
    waiting: 0,
    ...load(ago),
  }))
}

const idleFor = (seconds: number) => watched(seconds, () => ({}))
const steady = (active: number, seconds: number) => watched(seconds, () => ({ active }))

function decided(input: Partial<Omit<DecideInput, 'settings'>> & { settings?: Partial<ScaleSettings> }) {
  const { settings: own, ...rest } = input
  return decide({ now, samples: [], current: 0, ...rest, settings: { ...settings, ...own } })
}

describe('waking and scaling up', () => {
  it('wakes at once on the first waiter, without any history', () => {
    const samples = [{ at: now, active: 0, waiting: 1 }]
    expect(decided({ samples })).toMatchObject({ replicas: 1, reason: 'Woken' })
  })

  it('gives a step of 1,000 requests its replicas in one decision', () => {
    const samples = [...idleFor(5), { at: now, active: 0, waiting: 1000 }]
    expect(decided({ samples, settings: { maxReplicas: 200 } })).toMatchObject({ replicas: 100, reason: 'Woken' })
  })

  it.each([
    { current: 1, active: 10, replicas: 'hold' },
    { current: 1, active: 11, replicas: 2 },
    { current: 1, active: 95, replicas: 10 },
    { current: 1, active: 500, replicas: 10 },
    { current: 3, active: 30, replicas: 'hold' },
    { current: 3, active: 31, replicas: 4 },
  ])('has $current and $active active requests: $replicas', ({ current, active, replicas }) => {
    const decision = decided({ samples: steady(active, 10), current })
    expect(decision === 'hold' ? decision : decision.replicas).toBe(replicas)
  })

  it('counts waiting and active requests together', () => {
    const samples = [{ at: now, active: 10, waiting: 15 }]
    expect(decided({ samples, current: 1 })).toMatchObject({ replicas: 3, reason: 'ScaledUp' })
  })

  it('follows the peak of the last 6 s, not an older one', () => {
    const burst = (secondsAgo: number) => watched(30, (ago) => ({ active: ago === secondsAgo ? 50 : 5 }))
    expect(decided({ samples: burst(6), current: 1 })).toMatchObject({ replicas: 5 })
    expect(decided({ samples: burst(7), current: 1 })).toBe('hold')
  })

  it('does not wake a model again for requests that ended before it fell asleep', () => {
    const samples = watched(30, (ago) => ({ active: ago > 2 ? 5 : 0 }))
    expect(decided({ samples, current: 0, settings: { idleWindowMs: 2 * second } })).toBe('hold')
  })

  it('does not wake a model that was just put to sleep for requests that it still answers', () => {
    expect(decided({ samples: steady(3, 5) })).toBe('hold')
    const samples = [...steady(3, 5).slice(0, -1), { at: now, active: 2, waiting: 1 }]
    expect(decided({ samples })).toMatchObject({ replicas: 1, reason: 'Woken' })
  })

  it('goes no higher than the cards allow, but always wants the first one', () => {
    const samples = steady(95, 10)
    expect(decided({ samples, current: 1, settings: { replicasThatFit: 4 } })).toMatchObject({ replicas: 4 })
    const first = [{ at: now, active: 0, waiting: 95 }]
    expect(decided({ samples: first, current: 0, settings: { replicasThatFit: 0 } })).toMatchObject({ replicas: 1 })
    expect(decided({ samples, current: 5, settings: { replicasThatFit: 4 } })).toBe('hold')
  })
})

describe('going down', () => {
  it.each([
    { idle: 600, outcome: 'hold' },
    { idle: 629, outcome: 'hold' },
    { idle: 630, outcome: 0 },
    { idle: 900, outcome: 0 },
  ])('takes the last Pod after the idle window and the delay: $idle s → $outcome', ({ idle, outcome }) => {
    const samples = watched(1000, (ago) => ({ active: ago >= idle ? 1 : 0 }))
    const decision = decided({ samples, current: 1 })
    expect(decision === 'hold' ? decision : decision.replicas).toBe(outcome)
  })

  it('says why a model was put to sleep', () => {
    const samples = watched(700, (ago) => ({ active: ago === 640 ? 1 : 0 }))
    expect(decided({ samples, current: 1 })).toEqual({
      replicas: 0,
      reason: 'ScaledToZero',
      message: 'no request for 640 s',
    })
  })

  it('keeps the last Pod while somebody is served or waits', () => {
    expect(decided({ samples: steady(1, 5000), current: 1 })).toBe('hold')
    const waiting = watched(5000, (ago) => ({ waiting: ago === 0 ? 1 : 0 }))
    expect(decided({ samples: waiting, current: 1 })).toBe('hold')
  })

  it.each([
    { quiet: 60, outcome: 'hold' },
    { quiet: 90, outcome: 'hold' },
    { quiet: 91, outcome: 2 },
  ])('follows the peak of 60 s and the delay from 5 down: $quiet s → $outcome', ({ quiet, outcome }) => {
    const samples = watched(300, (ago) => ({ active: ago >= quiet ? 50 : 15 }))
    const decision = decided({ samples, current: 5 })
    expect(decision === 'hold' ? decision : decision.replicas).toBe(outcome)
  })

  it('leaves one Pod for the idle window when nobody asks any more', () => {
    expect(decided({ samples: idleFor(200), current: 5 })).toMatchObject({ replicas: 1, reason: 'ScaledDown' })
  })

  it('stops at minReplicas', () => {
    expect(decided({ samples: idleFor(2000), current: 5, settings: { minReplicas: 2 } })).toMatchObject({ replicas: 2 })
    expect(decided({ samples: idleFor(2000), current: 2, settings: { minReplicas: 2 } })).toBe('hold')
  })
})

describe('without enough data', () => {
  it('holds on a fresh start, however idle the model is', () => {
    expect(decided({ samples: [], current: 5 })).toBe('hold')
    expect(decided({ samples: idleFor(89), current: 5 })).toBe('hold')
    expect(decided({ samples: idleFor(629), current: 1 })).toBe('hold')
    expect(decided({ samples: idleFor(630), current: 1 })).toMatchObject({ replicas: 0 })
  })

  it('holds while the newest sample is old', () => {
    const samples = watched(2000, (ago) => ({ active: ago })).filter(({ at }) => at < now - 5 * second)
    expect(decided({ samples, current: 1 })).toBe('hold')
  })

  it('still raises to minReplicas and lowers to maxReplicas', () => {
    expect(decided({ current: 0, settings: { minReplicas: 2 } })).toMatchObject({
      replicas: 2,
      reason: 'RaisedToMinimum',
    })
    expect(decided({ current: 9, settings: { maxReplicas: 3 } })).toMatchObject({
      replicas: 3,
      reason: 'LoweredToMaximum',
    })
  })
})

describe('whatever happens', () => {
  const anySamples = fc
    .array(fc.record({ gap: fc.integer({ min: 0, max: 5000 }), active: fc.nat(300), waiting: fc.nat(300) }), {
      maxLength: 300,
    })
    .map((steps) => {
      let at = now
      return steps.map(({ gap, active, waiting }) => ({ at: (at -= gap), active, waiting })).toReversed()
    })
  const anyInput = fc
    .record({
      samples: anySamples,
      current: fc.nat(30),
      minReplicas: fc.nat(10),
      above: fc.nat(10),
      targetRequests: fc.integer({ min: 1, max: 50 }),
      scaleDownDelayMs: fc.nat(120_000),
      idleWindowMs: fc.nat(900_000),
      replicasThatFit: fc.option(fc.nat(20), { nil: undefined }),
    })
    .map(({ samples, current, above, ...rest }) => {
      const bounds = { ...rest, maxReplicas: Math.max(1, rest.minReplicas + above) }
      return { now, samples, current, settings: bounds }
    })

  it('never leaves the bounds and never decides what already is', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const decision = decide(input)
        if (decision === 'hold') return
        expect(decision.replicas).toBeGreaterThanOrEqual(input.settings.minReplicas)
        expect(decision.replicas).toBeLessThanOrEqual(input.settings.maxReplicas)
        expect(decision.replicas).not.toBe(input.current)
      }),
    )
  })

  it('never goes down while somebody waits, and never to zero while somebody is served', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const newest = input.samples.at(-1)
        const decision = decide(input)
        if (newest === undefined || decision === 'hold' || input.current > input.settings.maxReplicas) return
        const least = newest.waiting > 0 ? input.current + 1 : newest.active > 0 ? 1 : 0
        expect(decision.replicas).toBeGreaterThanOrEqual(least)
      }),
    )
  })

  it('never goes down before the model was watched for the delay', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const decision = decide(input)
        const watchedMs = now - (input.samples[0]?.at ?? now)
        if (decision === 'hold' || decision.replicas > input.current) return
        if (input.current > input.settings.maxReplicas) return
        expect(watchedMs).toBeGreaterThanOrEqual(input.settings.scaleDownDelayMs)
      }),
    )
  })

  it('always wakes a sleeping model for a waiter', () => {
    fc.assert(
      fc.property(anyInput, fc.integer({ min: 1, max: 500 }), (input, waiting) => {
        const samples = [...input.samples, { at: now, active: 0, waiting }]
        expect(decide({ ...input, samples, current: 0 })).toMatchObject({ replicas: expect.any(Number) })
      }),
    )
  })

  it('needs no second step: deciding again right after a decision to grow holds', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const decision = decide(input)
        if (decision === 'hold' || decision.replicas < input.current || input.current < input.settings.minReplicas)
          return
        const again = decide({ ...input, current: decision.replicas })
        expect(again === 'hold' || again.replicas < decision.replicas).toBe(true)
      }),
    )
  })
})
