import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite-store.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-disk-'))
  path = join(folder, 'sluice.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const storeModule = join(import.meta.dirname, '../../src/store/sqlite-store.ts')

/** A program that opens a store, writes into it, one write after the other, and prints the result. */
const writing = (file: string, writes: number) => `
  const { openSqliteStore } = await import(${JSON.stringify(storeModule)})
  const saying = (error) => error.code ?? String(error)
  try {
    const store = await openSqliteStore({ path: ${JSON.stringify(file)} })
    console.log('objects ' + store.list({ resource: 'configmaps' }).items.length)
    for (let count = 0; count < ${writes}; count += 1) {
      const name = 'n' + process.pid + '-' + count
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
      await store.create({ resource: 'configmaps', namespace: 'default', name }, object)
    }
    console.log('written')
    await store.close()
  } catch (error) { console.log(saying(error)) }`

const run = (program: string, args: readonly string[]) =>
  spawnSync(program, args, { encoding: 'utf8', timeout: 60_000, env: { ...process.env, NODE_OPTIONS: '' } })

const canUnshare = run('unshare', ['-rm', 'true']).status === 0
const canTrace = run('strace', ['-f', '-o', '/dev/null', 'true']).status === 0

describe('the disk under a store', () => {
  it('holds a write-ahead log', async () => {
    const store = await openSqliteStore({ path })
    await store.create({ resource: 'configmaps', namespace: 'd', name: 'a' }, object('a'))
    await store.close()
    // The file's header says so: read and write version 2 mean WAL.
    expect([...readFileSync(path).subarray(18, 20)]).toEqual([2, 2])
  })

  it.skipIf(!canTrace)(
    `is made to write every commit down before it is acknowledged${canTrace ? '' : ' (no strace)'}`,
    () => {
      const trace = join(folder, 'trace')
      const writes = 20
      const child = run('strace', [
        '-f',
        '-qq',
        '-e',
        'trace=fsync,fdatasync',
        '-o',
        trace,
        process.execPath,
        '--input-type=module',
        '-e',
        writing(path, writes),
      ])
      expect(child.stdout).toContain('written')
      // SQLite with synchronous=NORMAL would sync at checkpoints only.
      expect(readFileSync(trace, 'utf8').match(/f(data)?sync\(\d+\) += 0/g)?.length).toBeGreaterThanOrEqual(writes)
    },
  )

  it.skipIf(!canUnshare)(
    `that takes no writes is told at the start, and nothing is changed${canUnshare ? '' : ' (no user namespaces)'}`,
    async () => {
      const store = await openSqliteStore({ path })
      await store.create({ resource: 'configmaps', namespace: 'd', name: 'a' }, object('a'))
      await store.close()
      const before = readFileSync(path)
      const child = run('unshare', [
        '-rm',
        'sh',
        '-c',
        'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"',
        'sh',
        folder,
        process.execPath,
        '--input-type=module',
        '-e',
        writing(path, 1),
      ])
      expect(child.stdout.trim(), `it said ${child.stderr}`).toBe('store_unavailable')
      expect(readFileSync(path).equals(before)).toBe(true)
    },
  )

  it('that lost the end of the log still has everything before it', async () => {
    const store = await openSqliteStore({ path })
    for (const name of ['a', 'b', 'c'])
      await store.create({ resource: 'configmaps', namespace: 'd', name }, object(name))
    // The state that a power cut in the middle of a commit leaves: the newest frames are torn.
    const log = readFileSync(`${path}-wal`)
    const file = readFileSync(path)
    await store.close()
    const torn = join(folder, 'torn.db')
    writeFileSync(torn, file)
    writeFileSync(`${torn}-wal`, log.subarray(0, log.length - 100))
    const recovered = await openSqliteStore({ path: torn })
    const names = recovered.list({ resource: 'configmaps' }).items.map(({ key }) => key.name)
    expect(names).toEqual(['a', 'b', 'c'].slice(0, names.length))
    expect(names.length).toBeGreaterThanOrEqual(2)
    expect(recovered.revision).toBe(names.length)
    await recovered.close()
  })
})

function object(name: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
}
