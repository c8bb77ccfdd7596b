import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { type ConfigMap, configMapKind } from '../../resources/config-map.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { secretKind } from '../../resources/secret.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { KindCaches } from '../kind-caches.ts'
import { OwnerGarbage } from './owner-garbage.ts'

const namespace = 'default'
const soon = { timeout: 15_000, interval: 10 }

let client: CountingClient
let caches: KindCaches
let stop: AbortController
let running: Promise<void>

/** Counts what the garbage collector asks of the cluster. */
class CountingClient extends EmbeddedClient {
  readonly asked = { list: 0, get: 0, patch: 0, delete: 0 }

  override list: EmbeddedClient['list'] = (...args) => {
    this.asked.list += 1
    return super.list(...args)
  }
  override get: EmbeddedClient['get'] = (...args) => {
    this.asked.get += 1
    return super.get(...args)
  }
  override patch: EmbeddedClient['patch'] = (...args) => {
    this.asked.patch += 1
    return super.patch(...args)
  }
  /** By name, what happens before an object is deleted for the first time. */
  readonly beforeDelete = new Map<string, () => Promise<unknown>>()
  override delete: EmbeddedClient['delete'] = async (...args) => {
    this.asked.delete += 1
    const [, { name }] = args
    const before = this.beforeDelete.get(name)
    this.beforeDelete.delete(name)
    await before?.()
    return super.delete(...args)
  }
}

beforeEach(async () => {
  const store = new MemoryStore({ watchBuffer: 100_000 })
  client = new CountingClient(new ClusterApi({ store, kinds: coreKinds, clock: systemClock }))
  for (const name of [namespace, 'elsewhere']) await client.create(namespaceKind, { metadata: { name } })
  const shared = { client, clock: systemClock, log: silentLogger }
  caches = new KindCaches(shared)
  caches.watch(configMapKind)
  caches.watch(secretKind)
  const garbage = new OwnerGarbage({ ...shared, watched: caches })
  stop = new AbortController()
  await caches.start(stop.signal, stop.signal)
  running = garbage.run(stop.signal)
})

afterEach(async () => {
  stop.abort()
  await running
  await caches.stopped()
})

interface Named {
  readonly metadata: { readonly name: string; readonly uid?: string | undefined }
}

const reference = ({ metadata }: Named, blockOwnerDeletion = true) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: metadata.name,
  uid: metadata.uid ?? '',
  blockOwnerDeletion,
})
const create = (name: string, owners: readonly Named[] = []) =>
  client.create(configMapKind, {
    metadata: { name, namespace, ownerReferences: owners.map((owner) => reference(owner)) },
  })
const own = (name: string, owners: readonly Named[]) =>
  client.patch(configMapKind, { namespace, name }, { metadata: { ownerReferences: owners.map((o) => reference(o)) } })
const remove = (name: string) => client.delete(configMapKind, { namespace, name }, { propagation: 'Foreground' })
const left = async () => (await client.list(configMapKind, { namespace })).items.map(({ metadata }) => metadata.name)

/** Each owns the next, and the last one the first. */
async function circle(names: readonly string[]): Promise<ConfigMap[]> {
  const made: ConfigMap[] = []
  for (const name of names) made.push(await create(name))
  for (const [index, name] of names.entries()) await own(name, made.slice(index - 1).slice(0, 1))
  return made
}

describe('owners in a circle, deleted in the foreground', () => {
  it('go all three when one of them is deleted, and the event loop turns meanwhile', async () => {
    await circle(['a', 'b', 'c'])
    const before = { ...client.asked }
    await remove('a')
    await expect.poll(left, soon).toEqual([])
    expect(client.asked.patch - before.patch).toBeLessThan(20)
    expect(client.asked.delete - before.delete).toBeLessThan(10)
  })

  it('go when all of them are deleted at once', async () => {
    await circle(['a', 'b', 'c', 'd'])
    await Promise.all(['a', 'b', 'c', 'd'].map(remove))
    await expect.poll(left, soon).toEqual([])
  })

  it('go when two circles share one of them', async () => {
    const [a] = await circle(['a', 'b', 'c'])
    const second = await create('x', a && [a])
    const c = await client.get(configMapKind, { namespace, name: 'c' })
    if (c) await own('a', [c, second])
    await remove('a')
    await expect.poll(left, soon).toEqual([])
  })

  it('one that owns itself goes', async () => {
    const self = await create('self')
    await own('self', [self])
    await remove('self')
    await expect.poll(left, soon).toEqual([])
  })

  it('an owner that stays keeps its part of the circle', async () => {
    await circle(['a', 'b', 'c'])
    const outside = await create('outside')
    const a = await client.get(configMapKind, { namespace, name: 'a' })
    if (a) await own('b', [a, outside])
    await remove('a')
    await expect.poll(left, soon).toEqual(['b', 'c', 'outside'])
  })
})

describe('owners that are not what they seem', () => {
  it('what gets another owner while it is judged stays', async () => {
    const [first, second] = [await create('first'), await create('second')]
    await create('owned', [first])
    client.beforeDelete.set('owned', () => own('owned', [first, second]))
    await client.delete(configMapKind, { namespace, name: 'first' })
    const owners = async () => (await client.get(configMapKind, { namespace, name: 'owned' }))?.metadata.ownerReferences
    await expect.poll(async () => (await owners())?.map(({ name }) => name), soon).toEqual(['second'])
  })

  it('what names an owner of another namespace, or one whose name is another object by now, goes', async () => {
    const far = await client.create(configMapKind, { metadata: { name: 'far', namespace: 'elsewhere' } })
    const keeper = await create('keeper')
    await create('stranded', [far])
    await create('mistaken', [{ metadata: { name: 'keeper', uid: 'somebody-else' } }])
    await create('kept', [keeper])
    await expect.poll(left, soon).toEqual(['keeper', 'kept'])
  })

  it('what has thousands of owners stays until the last of them is gone', async () => {
    const owners = await Promise.all(Array.from({ length: 2_000 }, (_, index) => create(`owner-${index}`)))
    await create('owned', owners)
    const [last, ...others] = owners
    await Promise.all(others.map(({ metadata }) => client.delete(configMapKind, { namespace, name: metadata.name })))
    const named = async () => (await client.get(configMapKind, { namespace, name: 'owned' }))?.metadata.ownerReferences
    await expect.poll(async () => (await named())?.length, soon).toBe(1)
    expect(client.asked.patch).toBeLessThan(500)
    await client.delete(configMapKind, { namespace, name: last?.metadata.name ?? '' })
    await expect.poll(left, soon).toEqual([])
  })
})

describe('how much work a deletion in the foreground is', () => {
  it('a chain of a thousand goes from its end, each asked for a few times', async () => {
    let owner = await create('n-0')
    for (let index = 1; index < 1_000; index += 1) owner = await create(`n-${index}`, [owner])
    const before = { ...client.asked }
    await remove('n-0')
    await expect.poll(left, { ...soon, interval: 100 }).toEqual([])
    expect(client.asked.delete - before.delete).toBeLessThan(1_100)
    expect(client.asked.patch - before.patch).toBeLessThan(3_000)
  })

  it('an owner of thousands is looked at when the last is gone, not for each of them', async () => {
    const owner = await create('owner')
    for (let index = 0; index < 3_000; index += 1) await create(`n-${index}`, [owner])
    const before = { ...client.asked }
    await remove('owner')
    await expect.poll(async () => (await left()).length, { ...soon, interval: 100 }).toBe(0)
    expect(client.asked.delete - before.delete).toBeLessThan(3_100)
    // One for the owner's end in each of the two kinds; the rest is this test looking.
    expect(client.asked.list - before.list).toBeLessThan(200)
  })
})
