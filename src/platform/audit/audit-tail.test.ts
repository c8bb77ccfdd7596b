import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { auditTail } from './audit-tail.ts'
import { consoleAuditEvent } from './console-audit-event.ts'

const eventOf = (name: string) =>
  consoleAuditEvent(
    {
      key: 'mine',
      source: '127.0.0.1',
      userAgent: undefined,
      verb: 'patch',
      object: { resource: 'models', subresource: 'scale', namespace: 'sluice', name },
      status: 200,
      startedAt: 0,
    },
    'one',
    5,
  )

describe('auditTail', () => {
  let folder: string
  const path = () => join(folder, 'audit.log')
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-audit-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('has the newest lines first, those of the console among them, and nothing that is no line', async () => {
    writeFileSync(path(), `${JSON.stringify(eventOf('a'))}\nbroken{\n${JSON.stringify(eventOf('b'))}\n`)
    expect(await auditTail(path())).toMatchObject([
      {
        user: { username: 'sluice:access-key:mine' },
        requestURI: '/apis/sluice.dev/v1/namespaces/sluice/models/b/scale',
        objectRef: { resource: 'models', subresource: 'scale', name: 'b' },
        annotations: { 'sluice.dev/cluster': 'one', 'sluice.dev/by': 'console' },
      },
      { objectRef: { name: 'a' } },
    ])
  })

  it('reads no more than the end of a long log', async () => {
    const lines = Array.from({ length: 3_000 }, (_, at) => JSON.stringify(eventOf(`m${at}`)))
    writeFileSync(path(), `${lines.join('\n')}\n`)
    const tail = await auditTail(path())
    expect(tail).toHaveLength(300)
    expect(tail[0]?.objectRef?.name).toBe('m2999')
  })
})
