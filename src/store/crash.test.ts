import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openSqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Lets the writer run until it acknowledged `enough` writes, kills it in the middle, and returns all it acknowledged. */
async function writeAndKill(path: string, round: number, enough: number): Promise<Map<number, string>> {
  const fixture = join(import.meta.dirname, 'crash-fixture.ts')
  const child = spawn(process.execPath, [fixture, path, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let output = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += String(chunk)
    if (output.split('\n').length > enough) child.kill('SIGKILL')
  }
  await exited
  // The last piece may be half a line: not acknowledged.
  const lines = output.split('\n').slice(1, -1)
  return new Map(lines.map((line) => [Number(line.split(' ')[0]), line.split(' ')[1] ?? '']))
}

describe('a store whose process is killed', () => {
  it('has every acknowledged write and never uses a revision twice', { timeout: 60_000 }, async () => {
    const path = join(folder, 'sluice.db')
    const acknowledged = new Map<number, string>()
    for (let round = 0; round < 6; round += 1) {
      for (const [revision, name] of await writeAndKill(path, round, 40 + round * 90)) {
        expect(acknowledged.has(revision), `revision ${revision} was used twice`).toBe(false)
        acknowledged.set(revision, name)
      }
      const store = openSqliteStore({ path, historyLimit: 200 })
      const newest = Math.max(...acknowledged.keys())
      expect(store.revision).toBeGreaterThanOrEqual(newest)
      const stored = new Map(
        store.list({ resource: 'configmaps' }).items.map(({ revision, key }) => [revision, key.name] as const),
      )
      const lost = [...acknowledged].filter(([revision, name]) => stored.get(revision) !== name)
      expect(lost).toEqual([])
      await store.close()
    }
    expect(acknowledged.size).toBeGreaterThan(6 * 40)
  })
})
