import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { podSchema } from '../../resources/pod.ts'
import { LogCollector, type LogLimits, defaultLogLimits } from './log-collector.ts'
import { containerLogFolder, podLogsFolder, rawPath } from './log-files.ts'
import { LogHub } from './log-hub.ts'
import { LogProgress, progressOffset } from './log-progress.ts'
import { type PodLogOptions, PodLogs } from './pod-logs.ts'

const never = new AbortController().signal
const identity = { namespace: 'default', name: 'web', uid: 'u' }
const pod = podSchema.parse({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: identity,
  spec: { containers: [{ name: 'main' }] },
})
const plain = { follow: false, timestamps: false, previous: false }

let dataDir = ''
let folder = ''
let clock: FakeClock
let hub: LogHub
let logs: PodLogs
let collectors: LogCollector[] = []

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-logs-'))
  folder = containerLogFolder(podLogsFolder(dataDir), identity, 'main')
  clock = new FakeClock()
  hub = new LogHub()
  logs = new PodLogs({ dataDir, hub, clock })
  collectors = []
})

afterEach(() => {
  for (const collector of collectors) collector.close()
  rmSync(dataDir, { recursive: true, force: true })
})

function collect(attempt = 0, limits: Partial<LogLimits> = {}): LogCollector {
  const options = { folder, attempt, clock, log: silentLogger, hub, limits: { ...defaultLogLimits, ...limits } }
  const collector = new LogCollector(options)
  collectors.push(collector)
  return collector
}

/** Lets time pass, and waits until everything written is collected. */
async function settle(ms = 1000): Promise<void> {
  for (const collector of collectors) await collector.caughtUp()
  await clock.advance(ms)
}

/** Writes as the process does. */
const write = (text: string, attempt = 0) => appendFileSync(rawPath(folder, attempt), text)

async function read(options: Partial<PodLogOptions> = {}): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of logs.logs(pod, { ...plain, ...options }, never)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join('')

describe('PodLogs', () => {
  it('gives back what was written, with and without times', async () => {
    const collector = collect()
    write('one\ntwo\n\nlast without end')
    await collector.finish()
    expect(await read()).toBe('one\ntwo\n\nlast without end\n')
    expect((await read({ timestamps: true })).split('\n')[0]).toBe('2030-01-01T00:00:00.000000000Z one')
    expect(readdirSync(folder)).toEqual(['0.log'])
  })

  it.each([0, 1, 3, 10, 5000])('shows the last %i lines, across a rotation', async (tailLines) => {
    const collector = collect(0, { logBytes: 20_000 })
    for (let from = 1; from <= 1000; from += 100) {
      write(lines(from, from + 99))
      await settle()
    }
    await collector.finish()
    expect(readdirSync(folder).sort()).toEqual(['0.log', '0.log.1'])
    const kept = (await read()).trimEnd().split('\n')
    expect(kept.at(-1)).toBe('line 1000')
    expect(kept.length).toBeGreaterThan(400)
    const expected = tailLines === 0 ? '' : `${kept.slice(-tailLines).join('\n')}\n`
    expect(await read({ tailLines })).toBe(expected)
  })

  it('shows no more than the last lines, though others are written while they are read', async () => {
    const collector = collect()
    write(lines(1, 3))
    await collector.finish()
    const file = join(folder, '0.log')
    // After the beginning of the last lines was found, and before they are read.
    vi.spyOn(hub, 'subscribe').mockImplementation(() => {
      appendFileSync(file, readFileSync(file))
      return () => {}
    })
    expect(await read({ tailLines: 1 })).toBe('line 3\n')
  })

  it('shows what is younger than asked', async () => {
    const collector = collect()
    write('old\n')
    await settle(60_000)
    write('new\n')
    await settle()
    await collector.finish()
    expect(await read({ sinceSeconds: 30 })).toBe('new\n')
  })

  it('shows what was written since a time, and refuses what is none', async () => {
    const collector = collect()
    write('old\n')
    await settle(60_000)
    write('new\n')
    await settle()
    await collector.finish()
    const sinceTime = new Date(clock.now() - 30_000).toISOString()
    expect(await read({ sinceTime })).toBe('new\n')
    // Also with an offset from UTC; the later of both counts.
    expect(await read({ sinceTime: '2030-01-01T01:00:30+01:00' })).toBe('new\n')
    expect(await read({ sinceTime: '2020-01-01T00:00:00Z', sinceSeconds: 30 })).toBe('new\n')
    await expect(read({ sinceTime: 'yesterday' })).rejects.toThrow('sinceTime "yesterday" is not a time')
  })

  it('ends a follow with the container that it began with, also when the next one has started', async () => {
    const first = collect(0)
    write('from the first\n')
    await settle()
    const following = read({ follow: true })
    await clock.advance(0)
    await first.finish()
    collect(1)
    write('from the second\n', 1)
    await settle()
    expect(await following).toBe('from the first\n')
    expect(await read()).toBe('from the second\n')
    expect(await read({ previous: true })).toBe('from the first\n')
  })

  it('stops at the limit of bytes', async () => {
    const collector = collect()
    write('abcdef\nghi\n')
    await collector.finish()
    expect(await read({ limitBytes: 9 })).toBe('abcdef\ngh')
  })

  it('writes long lines in parts and gives them back whole', async () => {
    const collector = collect(0, { lineBytes: 10 })
    write(`${'x'.repeat(25)}\nshort\n${'y'.repeat(10)}\n`)
    await collector.finish()
    expect(await read()).toBe(`${'x'.repeat(25)}\nshort\n${'y'.repeat(10)}\n`)
    expect(readFileSync(join(folder, '0.log'), 'utf8')).toContain(' P ')
  })

  it('follows over a rotation until the container has ended', async () => {
    const collector = collect(0, { logBytes: 200 })
    write(lines(1, 3))
    const following = read({ follow: true })
    for (let from = 4; from <= 40; from += 4) {
      write(lines(from, from + 3))
      await settle()
    }
    await collector.finish()
    const seen = await following
    expect(seen.endsWith('line 43\n')).toBe(true)
  })

  it('ends a follow when the reader leaves', async () => {
    collect()
    write('one\n')
    await settle()
    const leave = new AbortController()
    const seen: string[] = []
    for await (const chunk of logs.logs(pod, { ...plain, follow: true }, leave.signal)) {
      seen.push(chunk.toString())
      if (chunk.length > 0) leave.abort()
    }
    expect(seen).toEqual(['', 'one\n'])
  })

  it('takes what a container said that waits to be started again for the previous one', async () => {
    const first = collect(0)
    write('crashed\n')
    await first.finish()
    const state = { waiting: { reason: 'CrashLoopBackOff' } }
    const crashed = { name: 'main', state, lastState: { terminated: { exitCode: 1 } }, restartCount: 0, ready: false }
    const crashing = podSchema.parse({
      ...pod,
      status: { containerStatuses: [{ ...crashed, image: '', imageID: '' }] },
    })
    const chunks: Buffer[] = []
    for await (const chunk of logs.logs(crashing, { ...plain, previous: true }, never)) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe('crashed\n')
  })

  it('shows the previous container, and says when there is none', async () => {
    const first = collect(0)
    write('first\n')
    await first.finish()
    await expect(read({ previous: true })).rejects.toThrow(
      'previous terminated container "main" in pod "web" not found',
    )
    const second = collect(1)
    write('second\n', 1)
    await second.finish()
    expect(await read()).toBe('second\n')
    expect(await read({ previous: true })).toBe('first\n')
  })

  it('says why there is no log', async () => {
    await expect(read()).rejects.toThrow('container "main" in pod "web" is waiting to start: ContainerCreating')
    await expect(read({ container: 'other' })).rejects.toThrow('container other is not valid for pod web')
  })

  it('goes on where an earlier collector stopped, losing and repeating nothing', async () => {
    const first = collect()
    write('one\ntw')
    await settle()
    first.close()
    write('o\nthree\n')
    await collect().finish()
    expect(await read()).toBe('one\ntwo\nthree\n')
  })

  it('empties the raw file when enough of it was read', async () => {
    const collector = collect(0, { rawBytes: 100 })
    write(lines(1, 50))
    await settle()
    expect(readFileSync(rawPath(folder, 0), 'utf8')).toBe('')
    write(lines(51, 60))
    await collector.finish()
    expect(await read()).toBe(lines(1, 60))
  })
})

describe('progressOffset', () => {
  it.each([
    ['before the append', 100, 10],
    ['after the append', 150, 60],
  ])('is exact when killed %s', async (_when, logSize, expected) => {
    const path = join(dataDir, 'offset')
    const progress = new LogProgress(path)
    await progress.intend(10, 60, 100)
    progress.close()
    expect(progressOffset(path, logSize)).toBe(expected)
  })

  it('begins at the start when there is none', () => {
    expect(progressOffset(join(dataDir, 'none'), 5)).toBe(0)
  })
})
