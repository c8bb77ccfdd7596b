import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DemandHistory } from './demand-history.ts'
import type { DemandSample } from './demand.ts'

const start = Date.UTC(2030, 0, 1)
const keepMs = 630_000

function recorded(steps: ReadonlyArray<{ at: number; active?: number; waiting?: number }>, keep = keepMs) {
  const history = new DemandHistory()
  for (const { at, active = 0, waiting = 0 } of steps) history.record(start + at, { active, waiting }, keep)
  return history
}

const lastDemand = (samples: readonly DemandSample[]) => samples.findLast(({ active, waiting }) => active + waiting > 0)

describe('DemandHistory', () => {
  it('keeps what it was told, oldest first', () => {
    const { samples } = recorded([{ at: 0, active: 1 }, { at: 1000, waiting: 2 }, { at: 2000 }])
    expect(samples).toEqual([
      { at: start, active: 1, waiting: 0 },
      { at: start + 1000, active: 0, waiting: 2 },
      { at: start + 2000, active: 0, waiting: 0 },
    ])
  })

  it('counts a request that came and went between two samples', () => {
    const history = recorded([{ at: 0 }, { at: 1000 }])
    history.record(start + 2000, { active: 0, waiting: 0 }, keepMs, start + 1500)
    history.record(start + 3000, { active: 0, waiting: 0 }, keepMs, start + 1500)
    expect(lastDemand(history.samples)?.at).toBe(start + 2000)
  })

  it('begins anew after a gap, after missing data and after the clock was set back', () => {
    expect(recorded([{ at: 0 }, { at: 1000 }, { at: 6001 }]).samples).toHaveLength(1)
    expect(recorded([{ at: 0 }, { at: 1000 }, { at: 500 }]).samples).toHaveLength(1)
    const history = recorded([{ at: 0 }, { at: 1000 }])
    history.forget()
    expect(history.samples).toEqual([])
  })

  it('stays short over a day of an idle window of a day, and knows since when it watches', () => {
    const day = 86_400_000
    const history = new DemandHistory()
    for (let at = 0; at <= day; at += 1000) history.record(start + at, { active: at === 1000 ? 1 : 0, waiting: 0 }, day)
    expect(history.samples.length).toBeLessThanOrEqual(1024)
    expect(history.samples[0]?.at).toBe(start)
    const piece = day / 256
    expect(lastDemand(history.samples)?.at).toBeGreaterThanOrEqual(start + 1000)
    expect(lastDemand(history.samples)?.at).toBeLessThanOrEqual(start + 1000 + piece)
  })

  it('forgets what no decision looks at', () => {
    const history = new DemandHistory()
    for (let at = 0; at <= 3_000_000; at += 1000) history.record(start + at, { active: 0, waiting: 0 }, keepMs)
    expect(history.samples[0]?.at).toBeGreaterThan(start + 1_000_000)
    expect(history.samples[0]?.at).toBeLessThanOrEqual(start + 3_000_000 - keepMs)
  })

  it('is not grown by a storm of first waiters', () => {
    const history = new DemandHistory()
    for (let at = 0; at < 20_000; at += 1) history.record(start + at, { active: 0, waiting: at }, keepMs)
    expect(history.samples.length).toBeLessThanOrEqual(200)
    expect(history.samples.at(-1)).toEqual({ at: start + 19_999, active: 0, waiting: 19_999 })
  })

  it('never loses a peak of the last minute and never dates demand earlier than it was', () => {
    const steps = fc.array(fc.record({ gap: fc.integer({ min: 1, max: 3000 }), active: fc.nat(20) }), {
      minLength: 1,
      maxLength: 2500,
    })
    fc.assert(
      fc.property(steps, (list) => {
        const history = new DemandHistory()
        const all: DemandSample[] = []
        let at = start
        for (const { gap, active } of list) {
          at += gap
          all.push({ at, active, waiting: 0 })
          history.record(at, { active, waiting: 0 }, 90_000)
        }
        const peak = (samples: readonly DemandSample[]) =>
          Math.max(...samples.filter((sample) => sample.at >= at - 60_000).map(({ active }) => active))
        expect(peak(history.samples)).toBeGreaterThanOrEqual(peak(all))
        const really = Math.max(0, ...all.filter(({ active }) => active > 0).map((sample) => sample.at))
        const isKept = really > at - 90_000
        expect(lastDemand(history.samples)?.at ?? 0).toBeGreaterThanOrEqual(isKept ? really : 0)
      }),
      { numRuns: 50 },
    )
  })
})
