import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AuditEvent } from '../../apiserver/audit/audit-event.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { createLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { auditLines } from './audit-files.ts'
import { AuditTrail } from './audit-trail.ts'
import { auditEvent } from './audit-event.fixture.ts'

let folder: string
let path: string
let clock: FakeClock
let metrics: Metrics
const logged: string[] = []
const trails: AuditTrail[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-audit-'))
  path = join(folder, 'logs', 'audit.log')
  clock = new FakeClock()
  logged.length = 0
})

afterEach(() => {
  for (const trail of trails.splice(0)) trail.stop()
  rmSync(folder, { recursive: true })
})

function open(at = path, fileBytes?: number): AuditTrail {
  metrics = new Metrics()
  const log = createLogger({ level: 'info', destination: { write: (line) => void logged.push(line) } })
  const trail = new AuditTrail({ path: at, clock, log, metrics, fileBytes })
  trails.push(trail)
  return trail
}

const named = (name: string): AuditEvent => auditEvent({ objectRef: { resource: 'configmaps', name } })

async function namesIn(): Promise<Array<string | undefined>> {
  const names: Array<string | undefined> = []
  for await (const line of auditLines(path)) names.push((JSON.parse(line) as AuditEvent).objectRef?.name)
  return names
}

const lostLines = async (reason: string) =>
  Number(new RegExp(`sluice_audit_lines_lost_total\\{reason="${reason}"\\} (\\d+)`).exec(await metrics.text())?.[1])

describe('the audit trail', () => {
  it('writes lines a moment later, for its owner only, and keeps those of former runs', async () => {
    const first = open()
    first.write(named('a'))
    expect(readFileSync(path, 'utf8')).toBe('')
    await clock.advance(200)
    await expect.poll(namesIn).toEqual(['a'])
    expect(statSync(path).mode & 0o777).toBe(0o600)
    first.stop()
    open().write(named('b'))
    trails.at(-1)?.stop()
    expect(await namesIn()).toEqual(['a', 'b'])
  })

  it('begins a new line where the last run was killed in the middle of one', async () => {
    open().stop()
    appendFileSync(path, '{"half":')
    const trail = open()
    trail.write(named('whole'))
    trail.stop()
    expect(readFileSync(path, 'utf8')).toMatch(/^\{"half":\n\{"kind":"Event".*"whole".*\n$/)
  })

  it('moves a file that has grown aside and keeps four, with nothing lost between them', async () => {
    const lineBytes = JSON.stringify(named('00')).length + 1
    const trail = open(path, 10 * lineBytes)
    for (let count = 0; count < 64; count += 1) {
      trail.write(named(String(count).padStart(2, '0')))
      await clock.advance(200)
      await expect.poll(() => readFileSync(path, 'utf8').length).toBe(((count + 1) % 10) * lineBytes)
    }
    const expected = Array.from({ length: 34 }, (_, index) => String(30 + index))
    expect(await namesIn()).toEqual(expected)
    expect(existsSync(`${path}.3`)).toBe(true)
    expect(existsSync(`${path}.4`)).toBe(false)
  })

  it('leaves lines out and counts them when the file cannot be moved aside, rather than fill the disk', async () => {
    // Folders that are not empty cannot be replaced by a file.
    for (const age of [2, 3]) mkdirSync(`${path}.${age}/in-the-way`, { recursive: true })
    const lineBytes = JSON.stringify(named('00')).length + 1
    const trail = open(path, 2 * lineBytes)
    for (let count = 0; count < 10; count += 1) trail.write(named('00'))
    trail.stop()
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(4)
    expect(await lostLines('disk')).toBe(6)
    await expect.poll(() => logged.join('')).toContain('the audit log cannot be moved aside')
  })

  it('counts and logs what the disk does not take, and never makes anybody wait', async () => {
    const trail = open('/dev/full')
    for (let count = 0; count < 3; count += 1) trail.write(named('lost'))
    await clock.advance(200)
    await expect.poll(() => lostLines('disk')).toBeGreaterThanOrEqual(3)
    await clock.advance(60_000)
    expect(logged.join('')).toMatch(/"lines":\d+.*audit lines were left out/)
  })

  it('writes only some of what strangers do, so that they cannot push other lines out', async () => {
    const trail = open()
    const unknown = auditEvent({ user: {} })
    const anonymous = auditEvent({ user: { username: 'system:anonymous' } })
    for (let count = 0; count < 100; count += 1) trail.write(count % 2 ? unknown : anonymous)
    trail.write(unknown)
    trail.write(named('ours'))
    await clock.advance(1_000)
    for (let count = 0; count < 20; count += 1) trail.write(unknown)
    trail.stop()
    expect(await namesIn()).toHaveLength(100 + 1 + 10)
    expect(await lostLines('strangers')).toBe(1 + 10)
  })
})
