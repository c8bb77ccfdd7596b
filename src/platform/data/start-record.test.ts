import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../foundation/clock.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { DataDirectory } from './data-directory.ts'
import { StartRecord } from './start-record.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-starts-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A start whose outcome the test decides. Its timers fire late by this much. */
function begin(lateMs = 0) {
  const clock = new FakeClock()
  let behind = 0
  const busy: Clock = {
    now: () => clock.now() + behind,
    after: (ms, callback) =>
      clock.after(ms, () => {
        behind += lateMs
        callback()
      }),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  }
  const directory = DataDirectory.open(folder)
  const record = new StartRecord(directory, busy, '1.0.0')
  return { record, clock, crash: () => directory.close() }
}

describe('the record of starts', () => {
  it('counts starts that crash before everything is up', () => {
    for (const crashes of [0, 1, 2, 3]) {
      const { record, crash } = begin()
      expect(record.crashes).toBe(crashes)
      crash()
    }
  })

  it('forgets them once a start has come to rest', async () => {
    begin().crash()
    const { record, clock, crash } = begin()
    record.start()
    await clock.advance(9_000)
    expect(begunAgain(crash)).toBe(2)
    const next = begin()
    next.record.start()
    await next.clock.advance(11_000)
    expect(begunAgain(next.crash)).toBe(0)
  })

  it('counts a start whose loop does not turn, however long it runs', async () => {
    const { record, clock, crash } = begin(2_000)
    record.start()
    await clock.advance(60_000)
    expect(begunAgain(crash)).toBe(1)
  })

  it('does not count what was stopped in order', () => {
    const { record, crash } = begin()
    record.start()
    record.stop()
    expect(begunAgain(crash)).toBe(0)
  })

  it('takes a file that nobody can read for a directory in which all was well', () => {
    writeFileSync(join(folder, 'starts.json'), '{"crashes": "many"')
    const { record, crash } = begin()
    expect(record.crashes).toBe(0)
    crash()
  })
})

/** How many crashes the next start counts if the last one ends in this way. */
function begunAgain(end: () => void): number {
  end()
  const { record, crash } = begin()
  record.stop()
  crash()
  return record.crashes
}
