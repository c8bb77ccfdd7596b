import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStore } from './sqlite-store.ts'
import type { StoreEvent } from './store.ts'
import { keyOf, objectOf } from './store.contract.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'))
  path = join(folder, 'sluice.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const refusalOf = (opening: Promise<unknown>): Promise<unknown> =>
  opening.then(
    () => 'none',
    (error: unknown) => error,
  )

describe('SqliteStore', () => {
  it('has everything again after it was closed, and goes on with the next revision', async () => {
    const before = await openSqliteStore({ path })
    await before.create(keyOf('a'), objectOf('a', 'kept'))
    await before.create(keyOf('b'), objectOf('b'))
    await before.delete(keyOf('b'))
    await before.close()
    const after = await openSqliteStore({ path })
    expect(after.revision).toBe(3)
    expect(after.list({ resource: 'configmaps' }).items.map(({ key }) => key.name)).toEqual(['a'])
    expect((await after.create(keyOf('c'), objectOf('c'))).revision).toBe(4)
    await after.close()
  })

  it('is readable by its owner only, the files beside it too', async () => {
    const store = await openSqliteStore({ path })
    await store.create(keyOf('a'), objectOf('a'))
    const modes = readdirSync(folder).map(
      (file) => `${file} ${(statSync(join(folder, file)).mode & 0o777).toString(8)}`,
    )
    expect(modes).toEqual(['sluice.db 600', 'sluice.db-wal 600'])
    await store.close()
  })

  it('says so when there is no such folder', async () => {
    const nowhere = join(folder, 'nowhere', 'sluice.db')
    expect(await refusalOf(openSqliteStore({ path: nowhere }))).toMatchObject({ code: 'store_unavailable' })
  })

  it('lets a watch resume across a restart', async () => {
    const before = await openSqliteStore({ path })
    await before.create(keyOf('a'), objectOf('a'))
    await before.create(keyOf('b'), objectOf('b'))
    await before.close()
    const after = await openSqliteStore({ path })
    const controller = new AbortController()
    const seen: StoreEvent[] = []
    for await (const event of after.watch({ resource: 'configmaps' }, 1, controller.signal)) {
      seen.push(event)
      if (seen.length === 1) await after.create(keyOf('c'), objectOf('c'))
      else controller.abort()
    }
    expect(seen.map(({ key }) => key.name)).toEqual(['b', 'c'])
    await after.close()
  })

  it('shows and acknowledges a write when it is durable, and those that arrive together at once', async () => {
    const store = await openSqliteStore({ path })
    const alone = store.create(keyOf('a'), objectOf('a'))
    const together = ['b', 'c', 'd'].map((name) => store.create(keyOf(name), objectOf(name)))
    expect(['a', 'b'].map((name) => store.get(keyOf(name)))).toEqual([undefined, undefined])
    await alone
    await together[0]
    expect(['b', 'c', 'd'].map((name) => store.get(keyOf(name))?.revision)).toEqual([2, 3, 4])
    await Promise.all(together)
    await store.close()
  })

  it('commits a write that is alone with those that are said to follow', async () => {
    const store = await openSqliteStore({ path })
    void store.gather()
    const first = store.create(keyOf('a'), objectOf('a'))
    expect(store.get(keyOf('a'))).toBeUndefined()
    await Promise.resolve()
    const second = store.create(keyOf('b'), objectOf('b'))
    await first
    expect(store.get(keyOf('b'))?.revision).toBe(2)
    await second
    await store.close()
  })

  it('commits what waits before it closes, and takes nothing afterwards', async () => {
    const store = await openSqliteStore({ path })
    const writing = store.create(keyOf('a'), objectOf('a'))
    await store.close()
    expect((await writing).revision).toBe(1)
    await expect(store.create(keyOf('b'), objectOf('b'))).rejects.toMatchObject({ code: 'stopping' })
  })

  it('has everything that was acknowledged in what a power cut leaves, however long its log was made in advance', async () => {
    const store = await openSqliteStore({ path })
    for (let batch = 0; batch < 20; batch += 1) {
      const names = Array.from({ length: 40 }, (_, index) => `n${batch * 40 + index}`)
      await Promise.all(names.map((name) => store.create(keyOf(name), objectOf(name, 'x'.repeat(900)))))
    }
    const cut = join(folder, 'cut.db')
    for (const suffix of ['', '-wal']) copyFileSync(`${path}${suffix}`, `${cut}${suffix}`)
    expect(statSync(`${cut}-wal`).size).toBeGreaterThan(16_000_000)
    await store.close()
    const after = await openSqliteStore({ path: cut })
    expect(after.list({ resource: keyOf('n').resource }).items).toHaveLength(800)
    expect((await after.create(keyOf('next'), objectOf('next'))).revision).toBe(801)
    await after.close()
  })

  it('keeps the file small when one object is written over and over', async () => {
    const store = await openSqliteStore({ path, historyLimit: 10 })
    await store.create(keyOf('a'), objectOf('a'))
    for (let revision = 1; revision < 200; revision += 1) await store.update(keyOf('a'), objectOf('a'), revision)
    await store.close()
    const database = new DatabaseSync(path)
    expect(Number(database.prepare('SELECT count(*) AS rows FROM log').get()?.['rows'])).toBeLessThanOrEqual(21)
    database.close()
  })

  it('is written with a schema version, and refuses a newer one', async () => {
    await (await openSqliteStore({ path })).close()
    const database = new DatabaseSync(path)
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 })
    database.exec('PRAGMA user_version = 99')
    database.close()
    expect(await refusalOf(openSqliteStore({ path }))).toMatchObject({
      code: 'store_too_new',
      details: { path, found: 99, known: 2 },
    })
  })

  it('says so when the file is not a database', async () => {
    writeFileSync(path, 'this is a letter to my mother, not a database\n'.repeat(200))
    expect(await refusalOf(openSqliteStore({ path }))).toMatchObject({ code: 'store_corrupt', details: { path } })
  })

  it('says so when pages of the file are damaged', async () => {
    const store = await openSqliteStore({ path })
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => store.create(keyOf(`n${index}`), objectOf('n', 'x'.repeat(500)))),
    )
    await store.close()
    const bytes = readFileSync(path)
    bytes.fill(0xee, 4096 * 3, 4096 * 9)
    writeFileSync(path, bytes)
    expect(await refusalOf(openSqliteStore({ path }))).toMatchObject({ code: 'store_corrupt' })
  })

  it('says so when a row holds no object', async () => {
    const store = await openSqliteStore({ path })
    await store.create(keyOf('a'), objectOf('a'))
    await store.close()
    const database = new DatabaseSync(path)
    database.exec(`UPDATE log SET object = '{"kind":'`)
    database.close()
    expect(await refusalOf(openSqliteStore({ path }))).toMatchObject({ code: 'store_corrupt' })
  })

  it('refuses a file that another process has open', async () => {
    const store = await openSqliteStore({ path })
    const other = spawn(process.execPath, ['-e', openFrom(path)], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(createInterface(other.stdout), 'line')) as [string]
    expect(line).toBe('store_unavailable')
    await store.close()
  })

  it('turns read-only when the disk takes no more, and loses nothing that was acknowledged', async () => {
    const fixture = join(import.meta.dirname, 'full-disk.fixture.ts')
    const child = spawn('bash', ['-c', 'ulimit -f 512; exec "$@"', 'bash', process.execPath, fixture, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) output += String(chunk)
    const report = JSON.parse(output) as Record<string, unknown>
    expect(report).toMatchObject({ firstRefusal: 'store_unavailable', laterRefusal: 'store_unavailable' })
    expect(report['acknowledged']).toBeGreaterThan(10)
    expect(report['readable']).toBe(report['acknowledged'])
    const store = await openSqliteStore({ path })
    expect(store.list({ resource: 'configmaps' }).items.length).toBeGreaterThanOrEqual(Number(report['acknowledged']))
    expect((await store.create(keyOf('after'), objectOf('after'))).revision).toBe(store.revision)
    await store.close()
  })
})

function openFrom(file: string): string {
  const module = join(import.meta.dirname, 'sqlite-store.ts')
  return `import(${JSON.stringify(module)}).then(({ openSqliteStore }) => {
    openSqliteStore({ path: ${JSON.stringify(file)} }).then(() => console.log('opened'), (error) => console.log(error.code))
  })`
}
