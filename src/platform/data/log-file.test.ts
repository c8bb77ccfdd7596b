import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { joinLogFile, openLogFile, whatToDo } from './log-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-log-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const numbersIn = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => Number(/"number":(\d+)/.exec(line)?.[1]))

/** The test triggers the threads' regular checks. Files are on the real disk, so the condition may hold only later. */
async function until(tick: () => void, holds: () => void): Promise<void> {
  await vi.waitFor(
    () => {
      tick()
      holds()
    },
    { timeout: 10_000 },
  )
}

describe('the log file', () => {
  it('is moved aside once, however often that is looked at while a slow disk keeps a thread in the old one', () => {
    const large = { ino: 1, size: 200 }
    expect(whatToDo(large, large, 100)).toBe('move aside')
    expect(whatToDo(undefined, large, 100)).toBe('open anew')
    expect(whatToDo({ ino: 2, size: 10 }, large, 100)).toBe('open anew')
    expect(whatToDo(large, large, 200)).toBe('go on')
  })

  it('is moved aside once it is large, by one thread and for all, and no line is lost', async () => {
    const path = join(folder, 'sluice.log')
    const padding = 'x'.repeat(300)
    const repeated: (() => void)[] = []
    const repeat = (_everyMs: number, act: () => void) => void repeated.push(act)
    const tick = () => repeated.forEach((act) => act())
    const owner = openLogFile(path, { repeat, largestBytes: 100_000 })
    const other = joinLogFile(path, { repeat })
    for (let number = 0; number < 400; number += 2) {
      owner.info({ number, padding }, 'a line of the owner')
      other.info({ number: number + 1, padding }, 'a line of another thread')
    }
    await until(tick, () => expect(statSync(`${path}.1`).size).toBeGreaterThan(100_000))
    // Each thread notices by itself, and writes to the old file until then.
    let written = 400
    const write = () => {
      owner.info({ number: written++, by: 'owner' }, 'later')
      other.info({ number: written++, by: 'other' }, 'later')
      tick()
    }
    await until(write, () => expect(readFileSync(path, 'utf8')).toMatch(/"by":"owner"[^]*"by":"other"/))
    await until(tick, () => {
      const all = [...numbersIn(`${path}.1`), ...numbersIn(path)].toSorted((one, next) => one - next)
      expect(all).toEqual(Array.from({ length: written }, (_, number) => number))
    })
  })
})
