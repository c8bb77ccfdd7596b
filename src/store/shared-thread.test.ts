import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StepGate } from './sqlite-file/step-gate.ts'
import { StoreThread } from './sqlite-file/store-thread.ts'
import { type SqliteStore, type StoreTrouble, openSqliteStore } from './sqlite-store.ts'

const key = (name: string) => ({ resource: 'configmaps', namespace: 'default', name })
const object = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })

describe('a thread that has the files of two stores', () => {
  let folder: string
  const open: SqliteStore[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-shared-thread-'))
  })

  afterEach(async () => {
    await Promise.all(open.splice(0).map((store) => store.close()))
    rmSync(folder, { recursive: true, force: true })
  })

  const opened = async (
    name: string,
    thread: StoreThread,
    more: { gate?: StepGate; troubles?: StoreTrouble[] } = {},
  ) => {
    const { gate, troubles } = more
    const onTrouble = (trouble: StoreTrouble) => void troubles?.push(trouble)
    const store = await openSqliteStore({ path: join(folder, name), thread, gate, onTrouble })
    open.push(store)
    return store
  }

  it('keeps them apart, and goes on with one when the other is closed', async () => {
    const thread = new StoreThread()
    const [one, two] = [await opened('one.db', thread), await opened('two.db', thread)]
    await Promise.all([one.create(key('a'), object('a')), two.create(key('b'), object('b'))])
    expect([one.get(key('b')), two.get(key('a'))]).toEqual([undefined, undefined])
    await one.close()
    await two.create(key('c'), object('c'))
    await two.close()
    const again = await opened('two.db', thread)
    expect(again.list({ resource: 'configmaps' }).items).toHaveLength(2)
    expect((await opened('one.db', thread)).list({ resource: 'configmaps' }).items).toHaveLength(1)
  })

  it('refuses a file that cannot be read, and has the other all the same', async () => {
    const thread = new StoreThread()
    const one = await opened('one.db', thread)
    writeFileSync(join(folder, 'broken.db'), 'this is no database, whatever its name says'.repeat(100))
    await expect(opened('broken.db', thread)).rejects.toMatchObject({ code: 'store_corrupt' })
    await expect(one.create(key('a'), object('a'))).resolves.toMatchObject({ revision: 1 })
  })

  it('is begun anew for both when it is lost, and neither loses what was acknowledged', async () => {
    const thread = new StoreThread()
    const gate = new StepGate()
    const troubles: StoreTrouble[] = []
    const one = await opened('one.db', thread, { gate })
    const two = await opened('two.db', thread, { troubles })
    await two.create(key('kept'), object('kept'))
    gate.arm('received', 'throw')
    await expect(one.create(key('a'), object('a'))).rejects.toMatchObject({ code: 'store_interrupted' })
    // Answered by the next thread, once it has the file.
    await one.read({ resource: 'configmaps' }, 0, 10)
    await two.read({ resource: 'configmaps' }, 0, 10)
    await Promise.all([one, two].map((store) => store.create(key('after'), object('after'))))
    expect(two.get(key('kept'))).toBeDefined()
    expect(troubles.map(({ type }) => type)).toEqual(['lost', 'back'])
  })
})
