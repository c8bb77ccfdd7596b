import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SqliteStore, openSqliteStore } from './sqlite-store.ts'
import { StepGate } from './sqlite-file/step-gate.ts'
import { StoreCompacted } from './store.ts'
import { keyOf, objectOf } from './store.contract.ts'

let folder: string
let path: string
let closing: SqliteStore[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-newest-'))
  path = join(folder, 'sluice.db')
  const store = await open({})
  for (let index = 0; index < 12; index += 1) {
    await store.create(keyOf(`e${index}`, 'default', 'events'), objectOf(`e${index}`))
  }
  await store.create(keyOf('kept'), objectOf('kept'))
  await store.update(keyOf('e2', 'default', 'events'), objectOf('e2', 'again'), 3)
  await store.delete(keyOf('e11', 'default', 'events'))
  await store.close()
})
afterEach(async () => {
  for (const store of closing.splice(0)) await store.close()
  rmSync(folder, { recursive: true })
})

async function open(keepNewest: Record<string, number>, file = path, gate?: StepGate): Promise<SqliteStore> {
  const store = await openSqliteStore({ path: file, keepNewest, gate })
  closing.push(store)
  return store
}

const names = (store: SqliteStore) => store.list({ resource: 'events' }).items.map(({ key }) => key.name)

describe('a store that keeps the newest of a resource', () => {
  it('has only those, and everything of others, after a start', async () => {
    const store = await open({ events: 4 })
    expect(names(store)).toEqual(['e10', 'e2', 'e8', 'e9'])
    expect(store.get(keyOf('kept'))).toBeDefined()
    expect((await store.create(keyOf('next'), objectOf('next'))).revision).toBe(16)
  })

  it('leaves everything as it is when there are not too many', async () => {
    const store = await open({ events: 11 })
    expect(names(store)).toHaveLength(11)
    const seen = await firstOf(store, 14)
    expect(seen).toBe('15 deleted e11')
  })

  it('lets nobody go on watching who knew more than is left', async () => {
    const store = await open({ events: 4 })
    await expect(firstOf(store, 14)).rejects.toBeInstanceOf(StoreCompacted)
    await store.create(keyOf('new', 'default', 'events'), objectOf('new'))
    expect(await firstOf(store, 15)).toBe('16 created new')
  })

  it('takes them out of the file', async () => {
    const store = await open({ events: 4 })
    await store.create(keyOf('next'), objectOf('next'))
    // Each read is answered after a piece of the pending work, if there is any.
    for (let turn = 0; turn < 5; turn += 1) await store.read({ resource: 'configmaps' }, 15, 1)
    await store.close()
    const database = new DatabaseSync(path)
    expect(database.prepare(`SELECT count(*) AS rows FROM log WHERE resource = 'events'`).get()).toEqual({ rows: 4 })
    expect(database.prepare('SELECT * FROM left_out').all()).toEqual([])
    database.close()
  })

  it('brings none of them back, whatever happened before they were out of the file', async () => {
    const gate = new StepGate()
    const store = await open({ events: 4 }, path, gate)
    gate.arm('received')
    const deleting = ['e10', 'e2'].map((name) => store.delete(keyOf(name, 'default', 'events')))
    await gate.reached()
    const cut = join(folder, 'cut.db')
    for (const suffix of ['', '-wal']) copyFileSync(`${path}${suffix}`, `${cut}${suffix}`)
    gate.release()
    await Promise.all(deleting)
    const after = await open({ events: 100 }, cut)
    expect(names(after)).toEqual(['e10', 'e2', 'e8', 'e9'])
    await expect(firstOf(after, 14)).rejects.toBeInstanceOf(StoreCompacted)
  })
})

async function firstOf(store: SqliteStore, from: number): Promise<string> {
  for await (const { revision, type, key } of store.watch({ resource: 'events' }, from, AbortSignal.timeout(10_000))) {
    return `${revision} ${type} ${key.name}`
  }
  return 'none'
}
