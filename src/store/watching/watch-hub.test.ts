import { describe, expect, it } from 'vitest'
import { approximateBytes } from './approximate-bytes.ts'
import { SlowWatcher, type StoreEvent } from '../store.ts'
import { WatchHub } from './watch-hub.ts'

const selector = { resource: 'configmaps' }
const mebibyte = 1024 * 1024

function eventOf(revision: number, size: number, type: StoreEvent['type'] = 'created'): StoreEvent {
  const metadata = { name: `m${revision}`, resourceVersion: String(revision) }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { large: 'x'.repeat(size) } }
  return { type, revision, key: { resource: 'configmaps', namespace: 'default', name: metadata.name }, object }
}

function publish(hub: WatchHub, event: StoreEvent): void {
  hub.publish(event, JSON.stringify(event.object))
}

describe('a watcher', () => {
  it('that leaves large objects lying is dropped long before it is many events behind', async () => {
    const hub = new WatchHub(1_000, { bytes: 4 * mebibyte })
    const subscription = hub.subscribe(selector, 0)
    for (let revision = 1; revision <= 5; revision += 1) publish(hub, eventOf(revision, mebibyte))
    expect(hub.size).toBe(0)
    await expect(subscription.take()).rejects.toBeInstanceOf(SlowWatcher)
  })

  it('is as far behind with deletions, of which nobody has the text', async () => {
    const hub = new WatchHub(1_000, { bytes: 4 * mebibyte })
    const subscription = hub.subscribe(selector, 0)
    for (let revision = 1; revision <= 5; revision += 1) hub.publish(eventOf(revision, mebibyte, 'deleted'), null)
    await expect(subscription.take()).rejects.toBeInstanceOf(SlowWatcher)
  })

  it('that takes what there is stays, however much it was in all', async () => {
    const hub = new WatchHub(1_000, { bytes: 4 * mebibyte })
    const subscription = hub.subscribe(selector, 0)
    for (let revision = 1; revision <= 12; revision += 3) {
      for (const next of [0, 1, 2]) publish(hub, eventOf(revision + next, mebibyte))
      expect(await subscription.take()).toHaveLength(3)
    }
    expect(hub.size).toBe(1)
  })

  it('that waits stays, however large one object or one commit is', async () => {
    const hub = new WatchHub(1_000, { bytes: mebibyte })
    const subscription = hub.subscribe(selector, 0)
    publish(hub, eventOf(1, 3 * mebibyte))
    expect(await subscription.take()).toHaveLength(1)
    const taken = subscription.take()
    for (let revision = 2; revision <= 4; revision += 1) publish(hub, eventOf(revision, mebibyte))
    expect(await taken).toHaveLength(3)
  })
})

describe('all watchers together', () => {
  const limits = { bytes: 4 * mebibyte, allBytes: 6 * mebibyte }
  const others = { resource: 'secrets' }
  const secret = (revision: number): StoreEvent => {
    const event = eventOf(revision, mebibyte)
    return { ...event, key: { ...event.key, resource: 'secrets' } }
  }

  it('hold so much back; then who holds most of it is dropped, and nobody else', async () => {
    const hub = new WatchHub(1_000, limits)
    const greedy = hub.subscribe(selector, 0)
    const modest = hub.subscribe(others, 0)
    for (let revision = 1; revision <= 3; revision += 1) publish(hub, eventOf(revision, mebibyte))
    for (let revision = 4; revision <= 5; revision += 1) publish(hub, secret(revision))
    expect(hub.size).toBe(2)
    // What was taken counts until the next is asked for: a slow client still holds its batch.
    expect(await greedy.take()).toHaveLength(3)
    publish(hub, eventOf(6, mebibyte))
    expect(hub.size).toBe(1)
    expect(hub.heldBytes).toBeLessThan(3 * mebibyte)
    await expect(greedy.take()).rejects.toBeInstanceOf(SlowWatcher)
    expect(await modest.take()).toHaveLength(2)
  })

  it('may be very many, as they hold the same', async () => {
    const hub = new WatchHub(1_000, limits)
    const all = Array.from({ length: 500 }, () => hub.subscribe(selector, 0))
    for (let revision = 1; revision <= 3; revision += 1) publish(hub, eventOf(revision, mebibyte))
    expect(hub.size).toBe(500)
    for (const subscription of all) {
      expect(await subscription.take()).toHaveLength(3)
      subscription.end()
    }
    expect(hub.heldBytes).toBe(0)
  })
})

it('says about how long the JSON of an object is', () => {
  const object = { a: 'text', b: [1, true, null, { c: 'x'.repeat(1_000) }], d: {} }
  const bytes = JSON.stringify(object).length
  expect(approximateBytes(object)).toBeGreaterThan(bytes * 0.8)
  expect(approximateBytes(object)).toBeLessThan(bytes * 1.5)
})
