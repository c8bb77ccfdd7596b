import { afterEach, describe, expect, it } from 'vitest'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { SlowWatcher, type Store, StoreCompacted, StoreConflict, type StoreEvent, type StoreKey } from './store.ts'

export interface StoreLimits {
  readonly historyLimit?: number
  readonly watchBuffer?: number
}

export const keyOf = (name: string, namespace = 'default', resource = 'configmaps'): StoreKey => ({
  resource,
  namespace,
  name,
})

export const objectOf = (name: string, value = ''): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { value },
})

/** What every Store does, whatever its implementation. */
export function storeContract(open: (limits?: StoreLimits) => Store | Promise<Store>): void {
  describe('as a Store', () => {
    const stops: Array<() => Promise<void> | void> = []
    afterEach(async () => {
      for (const stop of stops.splice(0).toReversed()) await stop()
    })

    async function start(limits?: StoreLimits): Promise<Store> {
      const store = await open(limits)
      stops.push(() => store.close())
      return store
    }

    function watching(store: Store, from: number, namespace?: string) {
      const controller = new AbortController()
      stops.push(() => controller.abort())
      const events = store.watch({ resource: 'configmaps', namespace }, from, controller.signal)
      return { iterator: events[Symbol.asyncIterator](), controller }
    }

    const namesOf = (store: Store) => store.list({ resource: 'configmaps' }).items.map(({ key }) => key.name)

    async function take(iterator: AsyncIterator<StoreEvent>, count: number): Promise<string[]> {
      const seen: string[] = []
      while (seen.length < count) {
        const next = await iterator.next()
        if (next.done) break
        seen.push(`${next.value.revision} ${next.value.type} ${next.value.key.name}`)
      }
      return seen
    }

    it('starts empty, at revision 0', async () => {
      const store = await start()
      expect(store.revision).toBe(0)
      expect(store.get(keyOf('a'))).toBeUndefined()
      expect(store.list({ resource: 'configmaps' })).toEqual({ items: [], revision: 0 })
    })

    it('gives every write a revision of its own and shows it in the object', async () => {
      const store = await start()
      const created = await store.create(keyOf('a'), objectOf('a', 'one'))
      expect(created.revision).toBe(1)
      expect(created.object.metadata.resourceVersion).toBe('1')
      const updated = await store.update(keyOf('a'), objectOf('a', 'two'), 1)
      expect(updated).toMatchObject({
        revision: 2,
        object: { data: { value: 'two' }, metadata: { resourceVersion: '2' } },
      })
      expect(store.get(keyOf('a'))).toEqual(updated)
      const deleted = await store.delete(keyOf('a'), 2)
      expect(deleted).toMatchObject({
        revision: 3,
        object: { data: { value: 'two' }, metadata: { resourceVersion: '3' } },
      })
      expect(store.get(keyOf('a'))).toBeUndefined()
      expect(store.revision).toBe(3)
    })

    it('keeps what was written, whatever the caller does with its object afterwards', async () => {
      const store = await start()
      const mine = objectOf('a', 'mine')
      const writing = store.create(keyOf('a'), mine)
      mine['data'] = { value: 'changed' }
      await writing
      expect(store.get(keyOf('a'))?.object['data']).toEqual({ value: 'mine' })
    })

    it.each([
      ['exists', (store: Store) => store.create(keyOf('a'), objectOf('a'))],
      ['missing', (store: Store) => store.update(keyOf('b'), objectOf('b'), 1)],
      ['changed', (store: Store) => store.update(keyOf('a'), objectOf('a'), 99)],
      ['missing', (store: Store) => store.delete(keyOf('b'))],
      ['changed', (store: Store) => store.delete(keyOf('a'), 99)],
    ] as const)('refuses a conflicting write as "%s" without using a revision', async (reason, write) => {
      const store = await start()
      await store.create(keyOf('a'), objectOf('a', 'first'))
      const refused = await write(store).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(StoreConflict)
      expect(refused).toMatchObject({ reason })
      expect(store.revision).toBe(1)
      expect(store.get(keyOf('a'))?.object['data']).toEqual({ value: 'first' })
    })

    it('lets exactly one of many writers that arrive together win, and fails the others one by one', async () => {
      const store = await start()
      await store.create(keyOf('a'), objectOf('a'))
      const outcomes = await Promise.allSettled([
        store.update(keyOf('a'), objectOf('a', 'first'), 1),
        store.update(keyOf('a'), objectOf('a', 'second'), 1),
        store.create(keyOf('b'), objectOf('b')),
        store.create(keyOf('b'), objectOf('b')),
        store.delete(keyOf('b')),
        store.delete(keyOf('b')),
      ])
      expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, false, true, false])
      expect(store.get(keyOf('a'))).toMatchObject({ revision: 2, object: { data: { value: 'first' } } })
      expect(store.get(keyOf('b'))).toBeUndefined()
      expect(store.revision).toBe(4)
    })

    it('lists one resource in one namespace or in all, ordered by namespace and name', async () => {
      const store = await start()
      await store.create(keyOf('b', 'two'), objectOf('b'))
      await store.create(keyOf('a', 'two'), objectOf('a'))
      await store.create(keyOf('z', 'one'), objectOf('z'))
      await store.create(keyOf('s', 'one', 'secrets'), objectOf('s'))
      const names = (namespace?: string) =>
        store.list({ resource: 'configmaps', namespace }).items.map(({ key }) => `${key.namespace}/${key.name}`)
      expect(names()).toEqual(['one/z', 'two/a', 'two/b'])
      expect(names('two')).toEqual(['two/a', 'two/b'])
      expect(names('none')).toEqual([])
    })

    it('shows a list as it was when it was asked for', async () => {
      const store = await start()
      await store.create(keyOf('a'), objectOf('a', 'before'))
      const list = store.list({ resource: 'configmaps' })
      await store.update(keyOf('a'), objectOf('a', 'after'), 1)
      await store.create(keyOf('b'), objectOf('b'))
      expect(list.revision).toBe(1)
      expect(list.items.map(({ object }) => object['data'])).toEqual([{ value: 'before' }])
    })

    it('lists in order after objects have come, changed and gone between lists', async () => {
      const store = await start()
      const names = ['m', 'c', 'x', 'a', 't', 'b'].flatMap((name) => [name, `${name}1`, `${name}2`])
      for (const name of names) await store.create(keyOf(name), objectOf(name))
      expect(namesOf(store)).toEqual(names.toSorted())
      for (const name of ['c', 'x1', 'b2']) await store.delete(keyOf(name))
      for (const name of ['c', 'zz', '0']) await store.create(keyOf(name), objectOf(name, 'again'))
      const left = [...names.filter((name) => !['x1', 'b2'].includes(name)), 'zz', '0'].toSorted()
      expect(namesOf(store)).toEqual(left)
      expect(store.get(keyOf('c'))?.object['data']).toEqual({ value: 'again' })
    })

    it('lists in order what is left when almost everything is gone', async () => {
      const store = await start()
      const names = Array.from({ length: 300 }, (_, index) => `n${index}`)
      await Promise.all(names.map((name) => store.create(keyOf(name), objectOf(name))))
      await Promise.all(names.slice(0, 290).map((name) => store.delete(keyOf(name))))
      expect(namesOf(store)).toEqual(names.slice(290).toSorted())
    })

    it('knows the JSON of what was just written, with its version, and forgets it at the next write', async () => {
      const store = await start()
      const value = 'says "metadata":{ and ünï\n'
      const { object, revision } = await store.create(keyOf('a'), objectOf('a', value))
      const parsed: unknown = JSON.parse(store.jsonOf(object) ?? '')
      expect(parsed).toEqual({ ...objectOf('a', value), metadata: { name: 'a', resourceVersion: String(revision) } })
      const updated = await store.update(keyOf('a'), object, revision)
      expect(store.jsonOf(object)).toBeUndefined()
      expect(JSON.parse(store.jsonOf(updated.object) ?? '')).toEqual(updated.object)
      const large = await store.create(keyOf('large'), objectOf('large', 'x'.repeat(64 * 1024)))
      expect(store.jsonOf(large.object)).toBeUndefined()
    })

    it('replays from a revision and goes on live, without gap or duplicate', async () => {
      const store = await start()
      await store.create(keyOf('a'), objectOf('a'))
      await store.update(keyOf('a'), objectOf('a', 'x'), 1)
      await store.create(keyOf('s', 'default', 'secrets'), objectOf('s'))
      const { iterator } = watching(store, 1)
      expect(await take(iterator, 1)).toEqual(['2 updated a'])
      const written = Promise.all([store.create(keyOf('b'), objectOf('b')), store.delete(keyOf('a'))])
      expect(await take(iterator, 2)).toEqual(['4 created b', '5 deleted a'])
      await written
      await store.create(keyOf('c'), objectOf('c'))
      expect(await take(iterator, 1)).toEqual(['6 created c'])
    })

    it('replays more than one page of history', async () => {
      const store = await start()
      await Promise.all(Array.from({ length: 700 }, (_, index) => store.create(keyOf(`n${index}`), objectOf('n'))))
      const { iterator } = watching(store, 0)
      const seen = await take(iterator, 700)
      expect(seen.map((line) => Number(line.split(' ')[0]))).toEqual(
        Array.from({ length: 700 }, (_, index) => index + 1),
      )
    })

    it('shows each change with the object before and after, live and replayed alike', async () => {
      const store = await start()
      const live = watching(store, 0).iterator
      const first = live.next()
      await store.create(keyOf('a'), objectOf('a', 'one'))
      await store.update(keyOf('a'), objectOf('a', 'two'), 1)
      await store.delete(keyOf('a'))
      const seenLive = [(await first).value, (await live.next()).value, (await live.next()).value]
      expect(seenLive).toMatchObject([
        { type: 'created', object: { data: { value: 'one' }, metadata: { resourceVersion: '1' } } },
        {
          type: 'updated',
          object: { data: { value: 'two' }, metadata: { resourceVersion: '2' } },
          previous: { data: { value: 'one' }, metadata: { resourceVersion: '1' } },
        },
        {
          type: 'deleted',
          object: { data: { value: 'two' }, metadata: { resourceVersion: '3' } },
          previous: { data: { value: 'two' }, metadata: { resourceVersion: '2' } },
        },
      ])
      const replay = watching(store, 0).iterator
      expect([(await replay.next()).value, (await replay.next()).value, (await replay.next()).value]).toEqual(seenLive)
    })

    it('watches one namespace only', async () => {
      const store = await start()
      const { iterator } = watching(store, 0, 'two')
      const first = take(iterator, 2)
      await store.create(keyOf('a', 'one'), objectOf('a'))
      await store.create(keyOf('b', 'two'), objectOf('b'))
      await store.create(keyOf('c', 'one'), objectOf('c'))
      await store.create(keyOf('d', 'two'), objectOf('d'))
      expect(await first).toEqual(['2 created b', '4 created d'])
    })

    it('ends a watch quietly when it is aborted, waiting or not yet started', async () => {
      const store = await start()
      const { iterator, controller } = watching(store, 0)
      const waiting = iterator.next()
      controller.abort()
      expect(await waiting).toEqual({ done: true, value: undefined })
      const late = store.watch({ resource: 'configmaps' }, 0, controller.signal)[Symbol.asyncIterator]()
      expect(await late.next()).toEqual({ done: true, value: undefined })
    })

    it('ends its watches when it is closed', async () => {
      const store = await open()
      const waiting = watching(store, 0).iterator.next()
      await store.close()
      expect(await waiting).toEqual({ done: true, value: undefined })
    })

    it('says when a revision is too old to be watched from, and serves the oldest it still has', async () => {
      const store = await start({ historyLimit: 5 })
      await store.create(keyOf('a'), objectOf('a'))
      for (let revision = 1; revision < 30; revision += 1) await store.update(keyOf('a'), objectOf('a'), revision)
      const refused = await watching(store, 1)
        .iterator.next()
        .catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(StoreCompacted)
      const { oldestRevision } = refused as StoreCompacted
      expect(oldestRevision).toBeLessThanOrEqual(25)
      expect(await take(watching(store, oldestRevision).iterator, 1)).toEqual([`${oldestRevision + 1} updated a`])
    })

    it('keeps every object when history is cut, and still knows what the oldest event replaced', async () => {
      const store = await start({ historyLimit: 3 })
      await store.create(keyOf('quiet'), objectOf('quiet', 'kept'))
      await store.create(keyOf('gone'), objectOf('gone'))
      await store.delete(keyOf('gone'))
      await store.create(keyOf('busy'), objectOf('busy', '4'))
      for (let revision = 4; revision < 16; revision += 1) {
        await store.update(keyOf('busy'), objectOf('busy', String(revision + 1)), revision)
      }
      expect(store.list({ resource: 'configmaps' }).items.map(({ key }) => key.name)).toEqual(['busy', 'quiet'])
      const refused = await watching(store, 0)
        .iterator.next()
        .catch((error: unknown) => error)
      const oldest = (refused as StoreCompacted).oldestRevision
      const event = (await watching(store, oldest).iterator.next()).value as StoreEvent
      expect(event.previous?.['data']).toEqual({ value: String(oldest) })
    })

    it('drops a watcher that does not keep up, and only that one', async () => {
      const store = await start({ watchBuffer: 3 })
      const slow = watching(store, 0).iterator
      const quick = watching(store, 0).iterator
      const firstOfSlow = slow.next()
      let quickNext = quick.next()
      for (let index = 1; index <= 6; index += 1) {
        await store.create(keyOf(`n${index}`), objectOf('n'))
        expect((await quickNext).value).toMatchObject({ revision: index })
        quickNext = quick.next()
      }
      expect((await firstOfSlow).value).toMatchObject({ revision: 1 })
      await expect(slow.next()).rejects.toBeInstanceOf(SlowWatcher)
    })
  })
}
