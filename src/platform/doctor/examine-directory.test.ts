import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStore } from '../../store/sqlite-store.ts'
import { keyOf, objectOf } from '../../store/store.contract.ts'
import { DataDirectory, whileUnused } from '../data/data-directory.ts'
import { examineDirectory } from './examine-directory.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-doctor-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** As after a crash: nothing was closed, and the latest writes are only in the write-ahead log. */
async function crashedStore(objects: number): Promise<void> {
  const busy = mkdtempSync(join(tmpdir(), 'sluice-doctor-busy-'))
  const store = await openSqliteStore({ path: join(busy, 'sluice.db') })
  for (let index = 0; index < objects; index += 1) await store.create(keyOf(`c${index}`), objectOf(`c${index}`))
  await store.delete(keyOf('c0'))
  for (const file of readdirSync(busy)) copyFileSync(join(busy, file), join(folder, file))
  await store.close()
  rmSync(busy, { recursive: true })
}

describe('the examination of a directory', () => {
  it('counts what is there, reading what a crash left beside the file, and changes nothing', async () => {
    await crashedStore(12)
    const before = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file)).toString('base64')])
    const { facts, findings } = examineDirectory(folder, 0)
    expect(facts[0]).toMatch(/^The store has 11 objects in 0\.\d MiB, at revision 13\.$/)
    expect(facts[1]).toMatch(/^ {2}11 configmaps in default /)
    expect(findings).toEqual([])
    expect(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file)).toString('base64')])).toEqual(
      before,
    )
  })

  it('says how many starts crashed, and what went wrong last', async () => {
    await crashedStore(1)
    writeFileSync(join(folder, 'starts.json'), '{"crashes":2,"begunAt":"2030-01-01T00:00:00.000Z"}')
    mkdirSync(join(folder, 'logs'))
    writeFileSync(
      join(folder, 'logs/sluice.log'),
      '{"level":"info","msg":"up"}\n{"level":"fatal","msg":"out of memory"}\n',
    )
    expect(examineDirectory(folder, 0).findings.map(({ what }) => what)).toEqual([
      'The last 2 starts crashed, the newest of 2030-01-01T00:00:00.000Z.',
      'The log says: {"level":"fatal","msg":"out of memory"}',
    ])
  })

  it('says so when the file is damaged', async () => {
    await crashedStore(200)
    rmSync(join(folder, 'sluice.db-wal'), { force: true })
    writeFileSync(
      join(folder, 'sluice.db'),
      'not a database, but long enough to be taken for one by its size'.repeat(100),
    )
    truncateSync(join(folder, 'sluice.db'), 5_000)
    expect(examineDirectory(folder, 0).findings.map(({ what }) => what)).toEqual([
      expect.stringMatching(/cannot be read/),
    ])
  })

  it('finds nothing where nothing ever was', () => {
    expect(examineDirectory(join(folder, 'none'), 0)).toMatchObject({ findings: [] })
    expect(readdirSync(folder)).toEqual([])
  })

  it('is refused while somebody uses the directory, and uses it alone', () => {
    const directory = DataDirectory.open(folder)
    expect(() => whileUnused(folder, () => 1)).toThrow(String(process.pid))
    directory.close()
    expect(whileUnused(folder, () => 1)).toBe(1)
  })
})
