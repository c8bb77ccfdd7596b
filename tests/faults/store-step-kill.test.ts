import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite-store.ts'
import { threadSteps } from '../../src/store/sqlite-file/step-gate.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-steps-'))
afterAll(() => rmSync(folder, { recursive: true }))
const fixture = join(import.meta.dirname, 'store-step-kill.fixture.ts')

describe('a store whose process is killed in the middle of a commit', () => {
  it.each(threadSteps.filter((step) => step !== 'opened'))(
    'when the thread has "%s" it, again and again, loses nothing it acknowledged and leaves nothing half done',
    async (step) => {
      const path = join(folder, `${step}.db`)
      const told = new Map<number, string>()
      for (let round = 0; round < 3; round += 1) {
        const child = spawnSync(process.execPath, [fixture, path, step, String(round)], { encoding: 'utf8' })
        expect(child.signal, `it said ${child.stderr}`).toBe('SIGKILL')
        for (const line of child.stdout.split('\n').slice(0, -1)) {
          const [revision = '', name = ''] = line.split(' ')
          expect(told.has(Number(revision)), `revision ${revision} was used twice`).toBe(false)
          told.set(Number(revision), name)
        }
      }
      const store = await openSqliteStore({ path })
      const there = new Map(
        store.list({ resource: 'configmaps' }).items.map(({ key, revision }) => [revision, key.name]),
      )
      await store.close()
      expect([...told].filter(([revision, name]) => there.get(revision) !== name)).toEqual([])
      // The write that was under way exists if it was committed, whether or not that was reported.
      const made = step === 'committed' || step === 'told'
      expect([...there.values()].filter((name) => name.startsWith('d'))).toHaveLength(made ? 3 : 0)
      expect([...there.keys()].toSorted((a, b) => a - b)).toEqual(Array.from(there, (_, index) => index + 1))
    },
  )
})
