import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AutoscaleStage, modelNamed } from './autoscale-stage.fixture.ts'

const idleAndDelayMs = 630_000

function setUp() {
  const stage = new AutoscaleStage()
  onTestFinished(() => stage.loop.stop())
  stage.models.put(modelNamed('m', { maxReplicas: 8, targetRequests: 10, replicas: 0 }))
  stage.demand.readings['m'] = { active: 0, waiting: 0 }
  stage.loop.start()
  return stage
}

/** The life of a model: each phase begins where the one before ends. */
const phases: ReadonlyArray<readonly [string, (stage: AutoscaleStage) => Promise<void>]> = [
  ['asleep', async ({ clock }) => clock.advance(5_000)],
  [
    'waking',
    async ({ clock, demand }) => {
      demand.firstWaiter('m')
      await clock.advance(3_000)
    },
  ],
  [
    'serving many',
    async ({ clock, demand }) => {
      demand.readings['m'] = { active: 55, waiting: 0 }
      await clock.advance(30_000)
    },
  ],
  [
    'serving few',
    async ({ clock, demand }) => {
      demand.readings['m'] = { active: 3, waiting: 0 }
      await clock.advance(70_000)
    },
  ],
  ['scaled down to few', async ({ clock }) => clock.advance(60_000)],
  [
    'idle',
    async ({ clock, demand }) => {
      demand.readings['m'] = { active: 0, waiting: 0 }
      await clock.advance(300_000)
    },
  ],
  ['idle long enough, in its delay', async ({ clock }) => clock.advance(310_000)],
]

describe('AutoscaleLoop restarted', () => {
  it.each(phases.map(([name], index) => [name, index] as const))(
    'while %s never takes Pods away at once, forgets none, and wakes for the next request',
    async (_name, index) => {
      const stage = setUp()
      const { clock, demand } = stage
      for (const [, live] of phases.slice(0, index + 1)) await live(stage)
      const before = stage.replicas('m')
      await stage.restart()
      await clock.advance(60_000)
      expect(stage.replicas('m')).toBeGreaterThanOrEqual(before)

      const reading = demand.readings['m'] ?? { active: 0, waiting: 0 }
      const isIdle = reading.active + reading.waiting === 0
      await clock.advance(isIdle ? idleAndDelayMs - 62_000 : 0)
      expect(stage.replicas('m')).toBe(before)
      demand.readings['m'] = { active: 0, waiting: 0 }
      await clock.advance(idleAndDelayMs + 5_000)
      expect(stage.replicas('m')).toBe(0)
      demand.firstWaiter('m')
      await clock.advance(0)
      expect(stage.replicas('m')).toBe(1)
    },
  )

  it('in the middle of a write decides again', async () => {
    const stage = setUp()
    const { clock, demand } = stage
    let isDead = true
    stage.beforeWrite = () => (isDead ? Promise.reject(new Error('killed')) : Promise.resolve())
    demand.firstWaiter('m')
    await stage.restart()
    expect(stage.replicas('m')).toBe(0)
    isDead = false
    await clock.advance(1_000)
    expect(stage.replicas('m')).toBe(1)
  })

  it.each([
    ['forward by an hour', 3_600_000],
    ['forward by a day', 86_400_000],
    ['back by an hour', -3_600_000],
    ['back by a day', -86_400_000],
  ])('when the clock is set %s begins its window anew, and ends it in time', async (_case, ms) => {
    const stage = setUp()
    const { clock, demand } = stage
    demand.firstWaiter('m')
    await clock.advance(3_000)
    demand.readings['m'] = { active: 0, waiting: 0 }
    demand.lastActive['m'] = clock.now()
    await clock.advance(100_000)
    clock.offsetMs += ms
    await clock.advance(idleAndDelayMs - 2_000)
    expect(stage.replicas('m')).toBe(1)
    await clock.advance(4_000)
    expect(stage.replicas('m')).toBe(0)
  })

  it('at any time, with the clock set back and forth, scales to zero only after the window and never while somebody asks', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('ask' as const), active: fc.nat(40), ms: fc.nat(90_000) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('rest' as const), ms: fc.nat(700_000) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('unknown' as const), ms: fc.nat(20_000) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('set' as const), ms: fc.integer({ min: -1e8, max: 1e8 }) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const stage = new AutoscaleStage()
        const { clock, demand } = stage
        stage.models.put(modelNamed('m', { maxReplicas: 8, targetRequests: 10, replicas: 0 }))
        demand.readings['m'] = { active: 0, waiting: 0 }
        stage.loop.start()
        const monotonic = () => clock.now() - clock.offsetMs
        let lastAsked = -Infinity
        let lastRestart = monotonic()
        let known = 0
        const wrong: string[] = []
        const check = () => {
          for (const { replicas, at } of stage.scaled.slice(known)) {
            if (replicas > 0) continue
            const idleMs = at - clock.offsetMs - Math.max(lastAsked, lastRestart)
            if (idleMs < idleAndDelayMs - 1_000) wrong.push(`asleep after ${idleMs} ms`)
          }
          known = stage.scaled.length
        }
        for (const one of steps) {
          if (one.do === 'restart') {
            await stage.restart()
            lastRestart = monotonic()
          } else if (one.do === 'set') {
            clock.offsetMs += one.ms
          } else if (one.do === 'unknown') {
            demand.readings['m'] = undefined
            await clock.advance(one.ms)
            demand.readings['m'] = { active: 0, waiting: 0 }
          } else if (one.do === 'rest') {
            await clock.advance(one.ms)
          } else {
            demand.firstWaiter('m')
            await clock.advance(0)
            if (stage.replicas('m') < 1) wrong.push('not woken')
            demand.readings['m'] = { active: one.active + 1, waiting: 0 }
            await clock.advance(one.ms)
            lastAsked = monotonic()
            const needed = one.ms > 1_000 ? Math.ceil((one.active + 1) / 10) : 1
            if (stage.replicas('m') < needed) wrong.push(`fewer than ${needed}`)
            demand.readings['m'] = { active: 0, waiting: 0 }
          }
          check()
        }
        await stage.loop.stop()
        expect(wrong).toEqual([])
        expect(clock.pendingTimers).toBe(0)
      }),
      { numRuns: 30 },
    )
  })
})
