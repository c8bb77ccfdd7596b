import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { createLogger } from '../../foundation/log.ts'
import { markLoop, marksSince, marksSoFar } from '../../foundation/loop-marks.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { LoopBoard } from './loop-board.ts'
import { LoopWatch } from './loop-watch.ts'
import { StuckLoopAlarm } from './stuck-loop-alarm.ts'

interface Line {
  readonly msg: string
  readonly stallMs?: number
  readonly began?: string[]
  readonly stallsNotTold?: number
  readonly lastBegun?: string
}

function logging() {
  const lines: Line[] = []
  const log = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line) as Line) } })
  return { log, lines }
}

function setUp() {
  const clock = new FakeClock()
  const { log, lines } = logging()
  const metrics = new Metrics()
  const board = new LoopBoard()
  // Time that passes while the loop does not turn.
  let stalledMs = 0
  const monotonic = () => clock.now() + stalledMs
  const watch = new LoopWatch({ loop: 'main', clock, log, metrics, board, monotonic })
  watch.start()
  onTestFinished(() => watch.stop())
  const stall = async (ms: number) => {
    stalledMs += ms
    await clock.advance(20)
  }
  return { clock, lines, metrics, board, stall, watch }
}

describe('LoopWatch', () => {
  it('says nothing of a loop that turns', async () => {
    const { clock, lines, metrics, stall } = setUp()
    await clock.advance(10_000)
    await stall(9)
    expect(lines).toEqual([])
    expect(await metrics.text()).toContain('sluice_loop_stall_seconds_count{loop="main"} 0')
  })

  it('measures a stall, and names what began meanwhile', async () => {
    const { clock, lines, metrics, stall } = setUp()
    markLoop('api GET', '/before')
    await clock.advance(20)
    markLoop('api GET', '/api/v1/pods?token=secret')
    markLoop('api GET', '/api/v1/pods')
    markLoop('deployments', 'web/shop')
    await stall(1_500)
    expect(lines).toMatchObject([
      {
        msg: 'the main loop did not turn for 1500 ms',
        loop: 'main',
        stallMs: 1_500,
        began: ['deployments web/shop', 'api GET /api/v1/pods ×2'],
      },
    ])
    const text = await metrics.text()
    expect(text).toContain('sluice_loop_stall_seconds_count{loop="main"} 1')
    expect(text).toContain('sluice_loop_stall_seconds_bucket{loop="main",le="1"} 0')
    expect(text).toContain('sluice_loop_longest_stall_seconds{loop="main"} 1.5')
  })

  it('writes one line for many stalls but for much longer ones, and says with the next how many there were', async () => {
    const { clock, lines, stall } = setUp()
    for (let time = 0; time < 5; time++) await stall(200)
    await stall(99)
    expect(lines).toHaveLength(1)
    await clock.advance(10_000)
    await stall(300)
    expect(lines[1]).toMatchObject({ stallMs: 300, stallsNotTold: 4 })
    await stall(700)
    expect(lines[2]).toMatchObject({ stallMs: 700 })
  })

  it('forgets the longest stall after two minutes at the latest', async () => {
    const { clock, metrics, stall } = setUp()
    await stall(700)
    await clock.advance(70_000)
    expect(await metrics.text()).toContain('sluice_loop_longest_stall_seconds{loop="main"} 0.7')
    await clock.advance(60_000)
    expect(await metrics.text()).toContain('sluice_loop_longest_stall_seconds{loop="main"} 0\n')
  })
})

describe('marks', () => {
  it('are few however many begin, and say how many more there were', () => {
    const before = marksSoFar()
    for (let count = 0; count < 1_000; count++) markLoop('pods', `web/p-${count}`)
    const told = marksSince(before)
    expect(told).toHaveLength(9)
    expect([told[0], told[8]]).toEqual(['pods web/p-999', '992 more'])
    expect(marksSince(marksSoFar())).toEqual([])
  })
})

describe('StuckLoopAlarm', () => {
  it('says once that another loop is stuck and what it began last, and once that it turns again', async () => {
    const { clock, board, watch } = setUp()
    const { log, lines } = logging()
    const other = new FakeClock()
    const alarm = new StuckLoopAlarm({ loop: 'main', board: new LoopBoard(board.shape), clock: other, log })
    alarm.start()
    onTestFinished(() => alarm.stop())
    for (let time = 0; time < 20; time++) {
      await clock.advance(200)
      await other.advance(200)
    }
    expect(lines).toEqual([])
    markLoop('api PATCH', '/api/v1/pods/größe?pretty')
    await other.advance(1_000)
    expect(lines).toEqual([])
    await other.advance(9_000)
    expect(lines).toMatchObject([
      { msg: 'the main loop has not turned for 1.2 s', lastBegun: 'api PATCH /api/v1/pods/gr··e' },
    ])
    await clock.advance(20)
    await other.advance(400)
    expect(lines).toMatchObject([{}, { msg: 'the main loop turns again after 10.2 s' }])
    watch.stop()
  })
})
