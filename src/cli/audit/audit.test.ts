import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { auditEvent } from '../../platform/audit/audit-event.fixture.ts'
import { auditCommand } from './audit.ts'
import { resourceAsked, timeBefore } from './audit-view.ts'

const data = mkdtempSync(join(tmpdir(), 'sluice-audit-command-'))
const events = [
  auditEvent(),
  auditEvent({
    verb: 'delete',
    user: { username: 'ada\u001b[2J' },
    objectRef: { resource: 'models', namespace: 'sluice', name: 'chat', apiGroup: 'sluice.dev' },
    responseStatus: { metadata: {}, status: 'Failure', reason: 'Forbidden', code: 403 },
  }),
  auditEvent({
    verb: 'get',
    stage: 'ResponseStarted',
    userAgent: 'kubectl/v1.34',
    objectRef: { resource: 'pods', name: 'web', subresource: 'exec' },
  }),
]
mkdirSync(join(data, 'logs'))
writeFileSync(join(data, 'logs', 'audit.log'), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
afterAll(() => rmSync(data, { recursive: true }))

let printed: string[] = []
beforeEach(() => {
  printed = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line))
})
afterEach(() => vi.restoreAllMocks())

const audit = (...flags: string[]) => auditCommand.run(['--data', data, ...flags])

describe('sluice audit', () => {
  it('shows when, who, what, how it ended and from where, and nothing that steers a terminal', async () => {
    expect(await audit()).toBe(0)
    expect(printed.map((line) => line.split(/\s{2,}/))).toEqual([
      ['2030-01-01T00:00:00Z', 'admin', 'create', 'default/configmaps/a', '201', '127.0.0.1'],
      ['2030-01-01T00:00:00Z', 'ada?[2J', 'delete', 'sluice/models.sluice.dev/chat', '403 Forbidden', '127.0.0.1'],
      ['2030-01-01T00:00:00Z', 'admin', 'get', 'pods/web/exec', '201 opened', '127.0.0.1'],
    ])
  })

  it('gives programs the lines as they are, of those that are asked for', async () => {
    await audit('--failed', '--resource', 'Model', '-n', 'sluice', '--since', '2029-12-31', '-o', 'json')
    expect(printed.map((line) => JSON.parse(line) as unknown)).toEqual([events[1]])
  })

  it('shows objects only, with the client, or as YAML', async () => {
    await audit('-o', 'name', '--last', '1')
    await audit('-o', 'wide', '--last', '1')
    await audit('-o', 'yaml', '--last', '1')
    expect(printed[0]).toBe('pods/web/exec')
    expect(printed[1]).toContain('kubectl/v1.34')
    expect(printed[2]).toMatch(/^---\n(?:.*\n)*verb: get\n/)
  })

  it('shows only the last ones where that is wanted', async () => {
    await audit('--last', '1')
    expect(printed).toHaveLength(1)
    expect(printed[0]).toContain('pods/web/exec')
  })

  it.each([
    [['--since', 'yesterday'], '--since'],
    [['--output', 'xml'], '--output'],
    [['--last', '0'], '--last'],
    [['everything'], 'it takes flags only'],
  ])('refuses %j', async (flags, why) => {
    await expect(audit(...flags)).rejects.toThrow(why)
  })

  it('finds no log in a directory that is not one of a cluster', async () => {
    await expect(auditCommand.run(['--data', join(data, 'none')])).rejects.toThrow('There is no audit log at')
  })
})

describe('what is asked for', () => {
  it('may be a kind, a short name or a resource', () => {
    const asked = ['Pod', 'po', 'pods/exec', 'Model', 'deployments.apps', 'widgets']
    expect(asked.map(resourceAsked)).toEqual(['pods', 'pods', 'pods/exec', 'models', 'deployments.apps', 'widgets'])
  })

  it('may be a time ago or a date', () => {
    const now = Date.UTC(2030, 0, 2)
    expect(timeBefore('30m', now)).toBe(now - 30 * 60_000)
    expect(timeBefore('1d', now)).toBe(Date.UTC(2030, 0, 1))
    expect(timeBefore('2029-12-31', now)).toBe(Date.UTC(2029, 11, 31))
  })
})
