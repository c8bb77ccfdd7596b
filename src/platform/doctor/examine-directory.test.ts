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
import { ClusterFolders } from '../clusters/cluster-folders.ts'
import { DataDirectory, whileUnused } from '../data/data-directory.ts'
import { examineDirectory } from './examine-directory.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-doctor-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** As after a crash: nothing was closed, and the latest writes are only in the write-ahead log. */
async function crashedStore(objects: number, place = folder): Promise<void> {
  const busy = mkdtempSync(join(tmpdir(), 'sluice-doctor-busy-'))
  const store = await openSqliteStore({ path: join(busy, 'sluice.db') })
  for (let index = 0; index < objects; index += 1) await store.create(keyOf(`c${index}`), objectOf(`c${index}`))
  await store.delete(keyOf('c0'))
  for (const file of readdirSync(busy)) copyFileSync(join(busy, file), join(place, file))
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

  it('looks at every further cluster, too, and says which one it means', async () => {
    const directory = DataDirectory.open(folder)
    const store = await openSqliteStore({ path: directory.path('sluice.db') })
    const cluster = { apiVersion: 'sluice.dev/v1', kind: 'Cluster', metadata: { name: 'team-a', uid: 'u' } }
    await store.create(keyOf('team-a', '', 'clusters.sluice.dev'), cluster)
    await store.close()
    const folders = new ClusterFolders(directory)
    const [a, b, gone] = ['team-a', 'team-b', 'gone'].map((name) => folders.make(name, 'us'))
    const attached = folders.make('attached', 'us')
    if (!a || !b || !gone) throw new Error('no folders')
    await crashedStore(3, a.folder.root)
    writeFileSync(b.folder.path('sluice.db'), 'not a database'.repeat(1_000))
    await crashedStore(2, gone.folder.root)
    writeFileSync(attached.folder.path('sluice.json'), '{}')
    directory.close()
    const { facts, findings } = examineDirectory(folder, 0)
    const storeLines = facts.filter((line) => line.startsWith('The store'))
    expect(storeLines).toEqual([
      expect.stringMatching(/^The store has 1 objects/),
      expect.stringMatching(`^The store of cluster gone \\(${gone.id}, deleted, its data kept\\) has 1 objects`),
      expect.stringMatching(`^The store of cluster team-a \\(${a.id}\\) has 2 objects`),
    ])
    expect(findings).toEqual([
      {
        what: expect.stringMatching(`^Cluster team-b \\(${b.id}\\): .*cannot be read`),
        advice: 'Until then this cluster is Abnormal; the others start as ever.',
      },
    ])
  })

  it('names the folder of a cluster whose record cannot be read, and makes nothing', async () => {
    await crashedStore(1)
    mkdirSync(join(folder, 'clusters/vksabc'), { recursive: true })
    writeFileSync(join(folder, 'clusters/vksabc/cluster.json'), '{')
    const { findings } = examineDirectory(folder, 0)
    expect(findings.map(({ what }) => what)).toEqual([
      expect.stringMatching(/clusters\/vksabc\/cluster\.json cannot be read/),
    ])
    expect(readdirSync(join(folder, 'clusters/vksabc'))).toEqual(['cluster.json'])
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
