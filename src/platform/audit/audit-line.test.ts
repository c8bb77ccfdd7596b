import { describe, expect, it } from 'vitest'
import { auditEvent } from './audit-event.fixture.ts'
import { type AuditQuestion, answersQuestion, parseAuditLine } from './audit-line.ts'

const exec = auditEvent({
  verb: 'get',
  impersonatedUser: { username: 'ada' },
  objectRef: { resource: 'pods', namespace: 'default', name: 'web', apiVersion: 'v1', subresource: 'exec' },
  responseStatus: { metadata: {}, status: 'Failure', reason: 'NotFound', code: 404 },
})

function isAnswered(question: AuditQuestion): boolean {
  const line = parseAuditLine(JSON.stringify(exec))
  if (!line || 'missing' in line) throw new Error('it is no line')
  return answersQuestion(line, question)
}

describe('an audit line', () => {
  it.each<[AuditQuestion, AuditQuestion]>([
    [{ user: 'admin' }, { user: 'adm' }],
    [{ user: 'ada' }, { user: 'bob' }],
    [{ verb: 'get' }, { verb: 'create' }],
    [{ resource: 'pods' }, { resource: 'configmaps' }],
    [{ resource: 'pods/exec' }, { resource: 'pods/attach' }],
    [{ namespace: 'default' }, { namespace: 'sluice' }],
    [{ name: 'web' }, { name: 'other' }],
    [{ cluster: 'one' }, { cluster: 'two' }],
    [{ sinceMs: Date.UTC(2030, 0, 1) }, { sinceMs: Date.UTC(2030, 0, 2) }],
    [{ failedOnly: true }, { failedOnly: true, verb: 'delete' }],
  ])('is found by %j and not by %j', (question, other) => {
    expect(isAnswered(question)).toBe(true)
    expect(isAnswered(other)).toBe(false)
  })

  it('is nothing else: half a line and other programs’ lines are passed over, gaps are told', () => {
    for (const text of ['', '{"kind":"Ev', '{}', 'null', '[1]']) expect(parseAuditLine(text)).toBeUndefined()
    const gap = '{"level":"warn","time":"2030-01-01T00:00:00.000Z","lines":7,"msg":"lines are missing here"}'
    expect(parseAuditLine(gap)).toEqual({ missing: 7, time: '2030-01-01T00:00:00.000Z' })
  })
})
