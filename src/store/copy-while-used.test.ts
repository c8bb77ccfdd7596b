import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { StoreThread } from './sqlite-file/store-thread.ts'
import { openSqliteStore } from './sqlite-store.ts'

const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-copy-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}
const key = (name: string) => ({ resource: 'configmaps', namespace: 'default', name })
const object = (name: string, text: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { text },
})

async function opened(path: string, thread?: StoreThread) {
  const store = await openSqliteStore({ path, thread })
  onTestFinished(() => store.close())
  return store
}

describe('a copy of a store that is in use', () => {
  it('has all that was durable, and of what was written meanwhile a beginning', async () => {
    const place = folder()
    const thread = new StoreThread()
    const store = await opened(join(place, 'sluice.db'), thread)
    // More than the pages of one step.
    const text = 'x'.repeat(100_000)
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => store.create(key(`old-${index}`), object(`old-${index}`, text))),
    )
    const copying = thread.copy(join(place, 'sluice.db'), join(place, 'copy.db'))
    const copied = { yet: false }
    void copying.finally(() => (copied.yet = true))
    let written = 0
    while (!copied.yet || written < 10) {
      await store.create(key(`new-${written}`), object(`new-${written}`, 'y'))
      written += 1
    }
    await copying
    expect(statSync(join(place, 'copy.db')).mode & 0o777).toBe(0o600)

    const copy = await opened(join(place, 'copy.db'))
    const names = copy.list({ resource: 'configmaps' }).items.map(({ object: { metadata } }) => metadata.name)
    expect(names.filter((name) => name.startsWith('old-'))).toHaveLength(40)
    const later = names.filter((name) => name.startsWith('new-'))
    expect(new Set(later)).toEqual(new Set(later.map((_, index) => `new-${index}`)))
  })

  it('can be had of a file that is not open, and replaces nothing', async () => {
    const place = folder()
    const closed = await openSqliteStore({ path: join(place, 'closed.db') })
    await closed.create(key('one'), object('one', ''))
    await closed.close()
    const thread = new StoreThread()
    await opened(join(place, 'sluice.db'), thread)
    await thread.copy(join(place, 'closed.db'), join(place, 'copy.db'))
    const copy = await opened(join(place, 'copy.db'))
    expect(copy.list({ resource: 'configmaps' }).items).toHaveLength(1)
    await expect(thread.copy(join(place, 'sluice.db'), join(place, 'copy.db'))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })

  it('is refused by a thread that has no file, and ends with it', async () => {
    const place = folder()
    const thread = new StoreThread()
    await expect(thread.copy(join(place, 'a'), join(place, 'b'))).rejects.toMatchObject({ code: 'store_unavailable' })
    const store = await opened(join(place, 'sluice.db'), thread)
    await store.create(key('one'), object('one', 'x'.repeat(10_000_000)))
    const copying = thread.copy(join(place, 'sluice.db'), join(place, 'copy.db')).then(
      () => 'whole',
      ({ code }: { code: string }) => code,
    )
    await store.close()
    expect(['whole', 'store_unavailable']).toContain(await copying)
  })
})
