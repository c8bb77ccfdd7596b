import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { LogCollector, defaultLogLimits } from './log-collector.ts'
import { podLogsFolder, rawPath } from './log-files.ts'
import { parseRecord } from './log-format.ts'
import { LogHub } from './log-hub.ts'
import { LogTurns } from './log-turns.ts'
import { RuntimeStage, never } from '../containers/running-containers.fixture.ts'
import { terminationMessage } from '../containers/termination-message.ts'

const headBytes = '2030-01-01T00:00:00.000000000Z stdout F '.length

/**
 * Measures the most CPU time of one turn of the event loop. Not the wall time: other programs of the machine take some
 * of that.
 */
class LoopWatch {
  longestMs = 0
  turns = 0
  #last = computedMs()
  #stopped = false

  constructor() {
    this.#turn()
  }

  stop(): void {
    this.#stopped = true
  }

  #turn(): void {
    const now = computedMs()
    this.longestMs = Math.max(this.longestMs, now - this.#last)
    this.turns += 1
    this.#last = now
    if (!this.#stopped) setImmediate(() => this.#turn())
  }
}

function computedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Whatever is waited for is given all the time that it takes on a machine that is busy with other things. */
const patientClock: Clock = {
  ...systemClock,
  after: (ms, act) => (ms < 10_000 ? systemClock.after(ms, act) : () => {}),
}

describe('a container that says a lot', () => {
  let stage: RuntimeStage
  beforeEach(() => {
    stage = new RuntimeStage('paths')
  })
  afterEach(() => stage.close())

  const filesOf = () => {
    const [pod = ''] = readdirSync(podLogsFolder(stage.dataDir))
    const folder = join(podLogsFolder(stage.dataDir), pod, 'main')
    return new Map(readdirSync(folder).map((name) => [name, statSync(join(folder, name)).size]))
  }

  it('holds nobody up with 100 MB, and its last words are there', async () => {
    const runtime = stage.runtime({ clock: patientClock })
    const launch = stage.launch('yes | head -c 100000000; echo; echo the end')
    const watch = new LoopWatch()
    const running = await runtime.start(launch, never)
    await running.exited
    watch.stop()
    // Collecting everything in one turn would take two minutes.
    expect(watch.longestMs).toBeLessThan(1000)
    expect(stage.said(launch.pod).endsWith('\nthe end')).toBe(true)
    const files = filesOf()
    expect([...files.keys()].filter((name) => !name.startsWith('0.log'))).toEqual([])
    // One piece with all its records may come on top of the limit.
    for (const size of files.values()) expect(size).toBeLessThan(defaultLogLimits.logBytes + 4 * 2 ** 20)
  }, 60_000)

  it('loses none of many small lines', async () => {
    const launch = stage.launch('i=0; while [ $i -lt 100000 ]; do echo $i; i=$((i+1)); done')
    const watch = new LoopWatch()
    const running = await stage.runtime({ clock: patientClock }).start(launch, never)
    await running.exited
    watch.stop()
    expect(watch.longestMs).toBeLessThan(1000)
    expect(stage.said(launch.pod)).toBe(Array.from({ length: 100_000 }, (_, line) => line).join('\n'))
  }, 60_000)
})

describe('LogCollector', () => {
  let folder = ''
  let hub: LogHub
  let appended: string[] = []
  const collectors: LogCollector[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-chatty-'))
    appended = []
    hub = new LogHub()
  })
  afterEach(() => {
    for (const collector of collectors.splice(0)) collector.close()
    rmSync(folder, { recursive: true, force: true })
  })

  function collect(name: string, turns = new LogTurns()): LogCollector {
    const options = { folder: join(folder, name), attempt: 0, clock: systemClock, log: silentLogger, hub, turns }
    const collector = new LogCollector(options)
    hub.subscribe(collector.path, () => appended.push(name))
    collectors.push(collector)
    return collector
  }
  const raw = (name: string) => rawPath(join(folder, name), 0)
  const records = (collector: LogCollector) =>
    readFileSync(collector.path)
      .toString('latin1')
      .split('\n')
      .flatMap((line) => parseRecord(Buffer.from(line, 'latin1')) ?? [])

  it('keeps the raw file within its bound, drops the middle, and says how much', async () => {
    const collector = collect('loud')
    await collector.caughtUp()
    const line = `${'x'.repeat(99)}\n`
    appendFileSync(raw('loud'), `first\n${line.repeat(200_000)}last\n`)
    await collector.caughtUp()
    expect(statSync(raw('loud')).size).toBeLessThanOrEqual(defaultLogLimits.rawBytes)
    const kept = records(collector)
    expect(kept.at(-1)?.text.toString()).toBe('last')
    const note = kept.map(({ text }) => text.toString()).find((text) => text.includes('bytes dropped')) ?? ''
    expect(Number(/\d+/.exec(note)?.[0])).toBeGreaterThan(19_000_000)
    appendFileSync(raw('loud'), 'and on\n')
    await collector.finish()
    expect(records(collector).at(-1)?.text.toString()).toBe('and on')
  })

  it('cuts a raw file short that was made enormous by other means than writing', async () => {
    const collector = collect('loud')
    execFileSync('truncate', ['--size', '1T', raw('loud')])
    await collector.caughtUp()
    expect(statSync(raw('loud')).size).toBe(0)
  })

  it('takes one piece at a time, and turn and turn about with others', async () => {
    const turns = new LogTurns()
    const loud = collect('loud', turns)
    const quiet = collect('quiet', turns)
    await Promise.all([loud.caughtUp(), quiet.caughtUp()])
    appended = []
    const watch = new LoopWatch()
    appendFileSync(raw('loud'), 'some line\n'.repeat(400_000))
    appendFileSync(raw('quiet'), 'one\n')
    await Promise.all([loud.caughtUp(), quiet.caughtUp()])
    watch.stop()
    expect(appended.indexOf('quiet')).toBeLessThan(3)
    const pieces = appended.filter((name) => name === 'loud').length
    expect(pieces).toBeGreaterThanOrEqual(4_000_000 / turns.chunk.length)
    expect(watch.turns).toBeGreaterThan(pieces)
  })

  it('writes output without lines in parts', async () => {
    const collector = collect('binary')
    appendFileSync(raw('binary'), Buffer.alloc(1_000_000, 7))
    await collector.finish()
    const parts = records(collector)
    expect(parts.map(({ tag }) => tag).join('')).toMatch(/^P+F$/)
    expect(Math.max(...parts.map(({ text }) => text.length))).toBe(defaultLogLimits.lineBytes)
    expect(parts.reduce((sum, { text }) => sum + text.length, 0)).toBe(1_000_000)
    expect(statSync(collector.path).size).toBe(1_000_000 + parts.length * (headBytes + 1))
  })
})

describe('terminationMessage', () => {
  let folder = ''
  let file = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-message-'))
    file = join(folder, 'message')
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const message = () => terminationMessage({ file, fallsBackToLog: false }, join(folder, 'log'), 1)

  it('is the end of a file of any size', async () => {
    execFileSync('truncate', ['--size', '2G', file])
    appendFileSync(file, `${'é'.repeat(3000)}the end`)
    const before = process.memoryUsage().rss
    const text = (await message()) ?? ''
    expect(Buffer.byteLength(text)).toBeGreaterThan(4090)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096)
    expect(text).toMatch(/^é+the end$/)
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 2 ** 20)
  })

  it('is nothing where the file became a link, a pipe or a folder', async () => {
    symlinkSync('/etc/passwd', file)
    expect(await message()).toBeUndefined()
    rmSync(file)
    execFileSync('mkfifo', [file])
    expect(await message()).toBeUndefined()
    rmSync(file)
    execFileSync('mkdir', [file])
    expect(await message()).toBeUndefined()
  })
})
