import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { configMapKind } from '../../resources/config-map.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterApi } from '../cluster-api.ts'
import type { BoundTable } from './bound-table.ts'
import { ObjectBounds } from './object-bounds.ts'

const user = { user: { name: 'alice', groups: [] } }
const table: BoundTable = {
  resources: { configmaps: { inAll: 10, perNamespace: 6, bytes: 100_000 } },
  everythingElse: { inAll: 4, perNamespace: 4 },
  bytes: 200_000,
}

let store: MemoryStore
let clock: FakeClock
let bounds: ObjectBounds
let api: ClusterApi

beforeEach(async () => {
  store = new MemoryStore()
  await start()
  for (const name of ['a', 'b']) await api.create(namespaceKind, undefined, { metadata: { name } })
})

async function start(): Promise<void> {
  clock = new FakeClock()
  bounds = new ObjectBounds({ store, kinds: () => coreKinds, clock, table })
  api = new ClusterApi({ store, kinds: coreKinds, clock, plugins: [bounds] })
}

const create = (namespace: string, name: string, size = 0, options: object = user) =>
  api.create(configMapKind, namespace, { metadata: { name }, data: { text: 'x'.repeat(size) } }, options)

async function fill(namespace: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await create(namespace, `m${index}`)
}

describe('a bound of objects', () => {
  it('says which it is, how many there are and what to do', async () => {
    await fill('a', 6)
    await expect(create('a', 'more')).rejects.toMatchObject({
      reason: 'Forbidden',
      message:
        'configmaps "more" is forbidden: exceeded what this cluster holds: configmaps in namespace a, used: 6, limited: 6; ' +
        'delete what is not needed any more',
    })
    await fill('b', 4)
    await expect(create('b', 'more')).rejects.toThrow(/configmaps in the cluster, used: 10, limited: 10/)
    await expect(api.create(namespaceKind, undefined, { metadata: { name: 'c' } }, user)).resolves.toBeDefined()
  })

  it('lets deletion and changes through, and what is freed is free', async () => {
    await fill('a', 6)
    const ref = { namespace: 'a', name: 'm0' }
    await api.update(configMapKind, ref, { metadata: ref, data: { changed: 'yes' } }, user)
    await api.delete(configMapKind, ref)
    await expect(create('a', 'more')).resolves.toBeDefined()
    await expect(create('a', 'evenmore')).rejects.toThrow(/used: 6/)
  })

  it('counts what is not written after all only as long as it might be', async () => {
    await fill('a', 5)
    for (let attempt = 0; attempt < 10; attempt++) {
      await create('a', 'dry', 0, { ...user, dryRun: true })
      await expect(create('a', 'm0')).rejects.toMatchObject({ reason: 'AlreadyExists' })
    }
    const results = await Promise.allSettled([create('a', 'one'), create('a', 'other')])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })

  it('leaves the cluster itself a little more', async () => {
    await fill('a', 6)
    await expect(create('a', 'own', 0, {})).resolves.toBeDefined()
    await expect(create('a', 'owner', 0, {})).rejects.toThrow(/used: 7, limited: 6/)
  })

  it('weighs them too, and what grows beyond', async () => {
    await create('a', 'large', 100_000)
    await expect(create('a', 'small')).rejects.toThrow(/bytes of configmaps, used: 100\d\d\d, limited: 100000/)
    const ref = { namespace: 'a', name: 'large' }
    const data = (size: number) => ({ metadata: ref, data: { text: 'x'.repeat(size) } })
    await expect(api.update(configMapKind, ref, data(200_000), user)).rejects.toThrow(/bytes of configmaps/)
    await api.update(configMapKind, ref, data(50_000), user)
    await expect(create('a', 'small')).resolves.toBeDefined()
    expect(bounds.writtenBytes).toBeGreaterThan(150_000)
  })

  it('knows what was there before it started, and what somebody wrote past it', async () => {
    await fill('a', 6)
    await start()
    await expect(create('a', 'more')).rejects.toThrow(/used: 6/)
    await store.delete({ resource: 'configmaps', namespace: 'a', name: 'm0' })
    await clock.advance(5_000)
    await expect(create('a', 'more')).resolves.toBeDefined()
  })
})
