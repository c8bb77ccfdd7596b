import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { StoreThread } from '../../store/sqlite-file/store-thread.ts'
import { type SqliteStore, openSqliteStore } from '../../store/sqlite-store.ts'
import { ClusterFolders } from '../clusters/cluster-folders.ts'
import { DataDirectory } from '../data/data-directory.ts'
import { openIdentity } from '../data/identity.ts'
import { writeArchive } from './archive.ts'
import { CopyService } from './copy-service.ts'
import { openCopySocket } from './copy-socket.ts'
import { type BackupOptions, makeBackup } from './make-backup.ts'
import { restoreBackup } from './restore-backup.ts'

const now = Date.parse('2026-01-02T03:04:05Z')
const key = (name: string) => ({ resource: 'configmaps', namespace: 'default', name })
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })

let root: string
let data: string
let file: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-backup-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  data = join(root, 'data')
  file = join(root, 'backup.tar.gz')
})

/** A data directory as a Sluice has it, with a further cluster and a file in a claim. */
async function fill(): Promise<{ readonly further: string; readonly token: string }> {
  const directory = DataDirectory.open(data)
  const { adminToken: token } = openIdentity(directory, undefined)
  directory.folder('pki')
  directory.write('pki/ca.key', 'a key')
  directory.write('credentials.json', '{}')
  directory.folder('volumes', 'userdata')
  directory.write('volumes/userdata/note', 'words')
  const { id } = new ClusterFolders(directory).make('team', 'acme')
  mkdirSync(join(data, 'clusters', id, 'pki'))
  for (const path of [join(data, 'sluice.db'), join(data, 'clusters', id, 'sluice.db')]) {
    const store = await openSqliteStore({ path })
    await store.create(key('first'), configMap('first'))
    await store.close()
  }
  directory.close()
  return { further: id, token }
}

const backup = (options: Partial<BackupOptions> = {}) =>
  makeBackup({ data, file, keys: true, claims: false, now, ...options })

/** What runs in a directory, as far as a backup can tell. */
async function run(): Promise<{ readonly store: SqliteStore; readonly service: CopyService }> {
  const directory = DataDirectory.open(data)
  const thread = new StoreThread()
  const store = await openSqliteStore({ path: join(data, 'sluice.db'), thread })
  const copy = (from: string, to: string) => thread.copy(from, to)
  const service = new CopyService({ directory, copy, clock: systemClock, log: silentLogger })
  await service.start()
  onTestFinished(async () => {
    await service.stop()
    await store.close()
    directory.close()
  })
  return { store, service }
}

async function namesIn(path: string): Promise<string[]> {
  const store = await openSqliteStore({ path })
  const names = store.list({ resource: 'configmaps' }).items.map(({ object }) => object.metadata.name)
  await store.close()
  return names
}

describe('a backup', () => {
  it('of a directory that is in use has everything up to now, and leaves nothing there', async () => {
    const { further, token } = await fill()
    const { store } = await run()
    await store.create(key('second'), configMap('second'))
    expect(await backup()).toMatchObject({ clusters: 2, wasRunning: true, changed: '' })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await expect.poll(() => readdirSync(data).filter((name) => name.startsWith('.backup-'))).toEqual([])

    const again = join(root, 'again')
    const facts = await restoreBackup(file, again)
    expect(facts).toMatchObject({ directory: again, clusters: 2, madeAt: '2026-01-02T03:04:05.000Z', keys: true })
    expect(await namesIn(join(again, 'sluice.db'))).toEqual(['first', 'second'])
    expect(await namesIn(join(again, 'clusters', further, 'sluice.db'))).toEqual(['first'])
    const directory = DataDirectory.open(again)
    expect(openIdentity(directory, undefined).adminToken).toBe(token)
    directory.close()
    expect(readFileSync(join(again, 'pki/ca.key'), 'utf8')).toBe('a key')
    expect(existsSync(join(again, 'volumes'))).toBe(false)
    expect(statSync(again).mode & 0o777).toBe(0o700)
  })

  it('of a directory that nobody uses can be without keys and with claims', async () => {
    const { further, token } = await fill()
    expect(await backup({ keys: false, claims: true })).toMatchObject({ clusters: 2, wasRunning: false })
    const again = join(root, 'again')
    mkdirSync(again)
    await restoreBackup(file, again)
    expect(readFileSync(join(again, 'volumes/userdata/note'), 'utf8')).toBe('words')
    expect(existsSync(join(again, 'credentials.json'))).toBe(false)
    expect(existsSync(join(again, 'pki'))).toBe(false)
    const directory = DataDirectory.open(again)
    expect(openIdentity(directory, undefined).adminToken).not.toBe(token)
    expect(new ClusterFolders(directory).find('team', 'acme')).toMatchObject({ id: further })
    directory.close()
  })

  it('is not made of a directory in use by somebody who cannot copy, or of none, or over a file', async () => {
    await fill()
    const directory = DataDirectory.open(data)
    await expect(backup()).rejects.toMatchObject({ code: 'data_directory_in_use' })
    directory.close()
    await expect(backup({ data: root })).rejects.toMatchObject({ code: 'no_data_directory' })
    writeFileSync(file, 'something else')
    await expect(backup()).rejects.toMatchObject({ code: 'backup_failed' })
    await expect(backup({ file: join(root, 'not/there.tar') })).rejects.toMatchObject({ code: 'backup_failed' })
    expect(readFileSync(file, 'utf8')).toBe('something else')
    expect(readdirSync(root).toSorted()).toEqual(['backup.tar.gz', 'data'])
  })

  it('is made for one at a time, and of nobody who leaves are copies left', async () => {
    await fill()
    await run()
    const socket = openCopySocket(data)
    const leaving = createConnection({ path: socket.path })
    await new Promise((resolve) => leaving.once('data', resolve))
    await expect(backup()).rejects.toThrow('another backup is being made')
    leaving.destroy()
    socket.close()
    await expect.poll(() => backup().catch(() => undefined)).toMatchObject({ wasRunning: true })
    await expect.poll(() => readdirSync(data).filter((name) => name.startsWith('.backup-'))).toEqual([])
  })

  it('is refused by a Sluice that stops meanwhile', async () => {
    await fill()
    const { service } = await run()
    const socket = openCopySocket(data)
    const waiting = createConnection({ path: socket.path })
    await new Promise((resolve) => waiting.once('data', resolve))
    const closed = new Promise((resolve) => waiting.once('close', resolve))
    await service.stop()
    await closed
    socket.close()
    expect(readdirSync(data).filter((name) => name.startsWith('.backup-'))).toEqual([])
  })
})

describe('restoring', () => {
  it('refuses what is no backup, one of a newer version, and one that is damaged', async () => {
    await fill()
    const to = join(root, 'again')
    const refused = (reason: string) => expect(restoreBackup(file, to)).rejects.toThrow(reason)
    await refused('it does not exist')
    writeFileSync(file, 'no archive')
    await refused('cannot be restored')
    rmSync(file)
    await writeArchive(file, [{ folder: data, names: ['identity.json'] }])
    await refused('it is no backup of Sluice')
    const newer = { format: 9, sluice: '9.0.0', madeAt: '', keys: true, claims: false }
    writeFileSync(join(data, 'backup.json'), JSON.stringify(newer))
    await writeArchive(file, [{ folder: data, names: ['backup.json', 'sluice.db'] }])
    await refused('newer version, 9.0.0')
    writeFileSync(join(data, 'backup.json'), JSON.stringify({ ...newer, format: 1 }))
    await writeArchive(file, [{ folder: data, names: ['backup.json'] }])
    await refused('it has no store')
    const database = new DatabaseSync(join(data, 'sluice.db'))
    database.exec('PRAGMA user_version = 99')
    database.close()
    await writeArchive(file, [{ folder: data, names: ['backup.json', 'sluice.db'] }])
    await expect(restoreBackup(file, to)).rejects.toMatchObject({ code: 'store_too_new' })
    writeFileSync(join(data, 'sluice.db'), 'x'.repeat(10_000))
    await writeArchive(file, [{ folder: data, names: ['backup.json', 'sluice.db'] }])
    await expect(restoreBackup(file, to)).rejects.toMatchObject({ code: 'store_corrupt' })
    expect(readdirSync(root).toSorted()).toEqual(['backup.tar.gz', 'data'])
  })

  it('replaces nothing that is there', async () => {
    await fill()
    await backup()
    await expect(restoreBackup(file, data)).rejects.toMatchObject({ code: 'restore_needs_room' })
    await expect(restoreBackup(file, file)).rejects.toMatchObject({ code: 'invalid_flag' })
  })
})
