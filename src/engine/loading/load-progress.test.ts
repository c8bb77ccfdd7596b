import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { createLogger } from '../../foundation/log.ts'
import { type FileReads, readFileReads } from './file-reads.ts'
import { LoadProgress } from './load-progress.ts'
import { tellLoading } from './tell-loading.ts'

function stage(totalBytes = 1000) {
  const clock = new FakeClock()
  let reads: FileReads | undefined = { mappedBytes: 50_000, deliveredBytes: 7_000 }
  const progress = new LoadProgress({ totalBytes, clock, reads: () => reads })
  const more = (mapped: number, delivered: number) => {
    if (reads) {
      reads = { mappedBytes: reads.mappedBytes + mapped, deliveredBytes: reads.deliveredBytes + delivered }
    }
  }
  const withoutCounters = () => {
    reads = undefined
  }
  return { clock, progress, more, withoutCounters }
}

describe('the progress of a load', () => {
  it('counts what is read of the file while llama.cpp says nothing', () => {
    const { progress, more } = stage()
    more(300, 300)
    expect(progress.report()).toEqual({ phase: 'starting', bytes: 0, totalBytes: 1000, stillSeconds: 0 })
    progress.enter('reading')
    expect(progress.report().bytes).toBe(0)
    more(100, 400)
    expect(progress.report()).toMatchObject({ phase: 'reading', bytes: 400 })
    more(600, 0)
    expect(progress.report().bytes).toBe(700)
  })

  it('is all of a file that was in memory already, and of one that memory cannot hold, and never more', () => {
    const warm = stage()
    warm.progress.enter('reading')
    warm.more(1000, 0)
    expect(warm.progress.report().bytes).toBe(1000)
    const large = stage()
    large.progress.enter('reading')
    large.more(200, 900)
    large.more(-100, 0)
    expect(large.progress.report().bytes).toBe(900)
    large.more(100, 900)
    expect(large.progress.report().bytes).toBe(1000)
  })

  it('has the words of llama.cpp for what comes after reading', () => {
    const { progress } = stage()
    progress.enter('reading')
    progress.placed(0.25)
    expect(progress.report()).toMatchObject({ phase: 'weights', bytes: 250 })
    progress.placed(0.2)
    expect(progress.report().bytes).toBe(250)
    progress.enter('preparing')
    progress.placed(0.5)
    expect(progress.report()).toMatchObject({ phase: 'preparing', bytes: 1000 })
  })

  it('has only those where the system counts nothing', () => {
    const { progress, withoutCounters } = stage()
    withoutCounters()
    progress.enter('reading')
    expect(progress.report().bytes).toBe(0)
    progress.placed(0.5)
    expect(progress.report().bytes).toBe(500)
  })

  it('tells for how long nothing has moved, and a slow disk from one that hangs', async () => {
    const { clock, progress, more } = stage()
    progress.enter('reading')
    await clock.advance(5_000)
    expect(progress.report().stillSeconds).toBe(5)
    more(0, 1)
    expect(progress.report().stillSeconds).toBe(0)
    // Memory was short and lost a page that is read again: slow, but alive.
    await clock.advance(60_000)
    more(-4096, 0)
    expect(progress.report().stillSeconds).toBe(0)
  })
})

describe('the log of a load', () => {
  function logged() {
    const lines: { msg: string; phase?: string; percent?: number; stillSeconds?: number }[] = []
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
    return { lines, log: createLogger({ destination }) }
  }

  it('has nothing of one that takes less than a second', async () => {
    const { clock, progress } = stage()
    const { lines, log } = logged()
    const end = tellLoading(progress, clock, log)
    progress.enter('reading')
    await clock.advance(900)
    end()
    await clock.advance(60_000)
    expect(lines).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  it('has each tenth once, however long it takes', async () => {
    const { clock, progress, more } = stage()
    const { lines, log } = logged()
    const end = tellLoading(progress, clock, log)
    progress.enter('reading')
    for (let second = 0; second < 1000; second++) {
      more(1, 1)
      await clock.advance(1_000)
    }
    progress.enter('preparing')
    await clock.advance(10_000)
    end()
    expect(lines.map(({ phase, percent }) => `${phase} ${percent}`)).toEqual([
      ...Array.from({ length: 11 }, (_, tenth) => `reading ${tenth * 10}`),
      'preparing 100',
    ])
  })

  it('says once that nothing moves, and again when it has moved in between', async () => {
    const { clock, progress, more } = stage()
    const { lines, log } = logged()
    const end = tellLoading(progress, clock, log)
    progress.enter('reading')
    await clock.advance(300_000)
    more(1, 1)
    await clock.advance(300_000)
    end()
    const still = lines.filter(({ msg }) => msg === 'nothing of the model is read')
    expect(still.map(({ stillSeconds }) => stillSeconds)).toEqual([30, 30])
  })
})

describe.skipIf(process.platform !== 'linux')('the counters of the operating system', () => {
  it('are those of this process', () => {
    const reads = readFileReads()
    expect(reads?.mappedBytes).toBeGreaterThan(1_000_000)
    expect(reads?.deliveredBytes).toBeGreaterThanOrEqual(0)
  })
})
