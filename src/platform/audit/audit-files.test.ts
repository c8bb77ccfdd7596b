import { appendFileSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { auditLines } from './audit-files.ts'

const patience = { timeout: 20_000, interval: 5 }

const folder = mkdtempSync(join(tmpdir(), 'sluice-audit-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

const drain = async (lines: AsyncIterable<string>, into: string[] = []) => {
  for await (const line of lines) into.push(line)
  return into
}

describe('the files of an audit log', () => {
  it('are read from the oldest on, without a line that is still being written', async () => {
    const path = join(folder, 'aged.log')
    writeFileSync(`${path}.2`, 'one\n')
    writeFileSync(`${path}.1`, `two ${'ä'.repeat(70_000)}\nthree\n`)
    writeFileSync(path, 'four\nfi')
    expect((await drain(auditLines(path))).map((line) => line.slice(0, 5))).toEqual(['one', 'two ä', 'three', 'four'])
  })

  it('are followed through any number of moves, each line once', async () => {
    const path = join(folder, 'followed.log')
    writeFileSync(path, 'old\n')
    const clock = new FakeClock()
    const stop = new AbortController()
    const seen: string[] = []
    let caughtUp = 0
    const following = drain(
      auditLines(path, { follow: { clock, signal: stop.signal }, onCaughtUp: () => caughtUp++ }),
      seen,
    )
    /** Looks twice, since the first look may have begun too early to see the change. */
    const look = async () => {
      const before = caughtUp + 1
      await vi.waitFor(async () => {
        await clock.advance(300)
        expect(caughtUp).toBeGreaterThan(before)
      }, patience)
    }
    await look()
    appendFileSync(path, 'ha')
    await look()
    appendFileSync(path, 'lf\n')
    await look()
    for (const next of ['second', 'third']) {
      if (existsSync(`${path}.1`)) renameSync(`${path}.1`, `${path}.2`)
      renameSync(path, `${path}.1`)
      writeFileSync(path, `${next}\n`)
    }
    await look()
    expect(seen).toEqual(['old', 'half', 'second', 'third'])
    stop.abort()
    await following
  })

  it('are missed with advice', async () => {
    await expect(drain(auditLines(join(folder, 'none.log')))).rejects.toThrow('There is no audit log at')
  })
})
