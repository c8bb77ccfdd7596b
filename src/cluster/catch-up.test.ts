import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { type ConfigMap, configMapKind } from '../resources/config-map.ts'
import { HeldObjects } from '../resources/object-cache.ts'
import { CatchUp } from './catch-up.ts'
import type { ClusterClient, ObjectList } from './cluster-client.ts'

const object = (name: string, generation = 1): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, generation, resourceVersion: '1' },
})

describe('CatchUp', () => {
  let clock: FakeClock
  let cache: HeldObjects<ConfigMap>
  let catchUp: CatchUp<ConfigMap>
  /** Lists that wait for their answers. */
  let lists: Array<PromiseWithResolvers<ObjectList<ConfigMap>> & { readonly signal: AbortSignal | undefined }>
  let done: string[]

  beforeEach(() => {
    clock = new FakeClock()
    cache = new HeldObjects<ConfigMap>()
    lists = []
    done = []
    const list = (_kind: unknown, _options: unknown, signal?: AbortSignal) => {
      const answer = Promise.withResolvers<ObjectList<ConfigMap>>()
      lists.push({ ...answer, signal })
      signal?.addEventListener('abort', () => answer.reject(new Error('aborted')))
      return answer.promise
    }
    catchUp = new CatchUp({
      client: { list } as unknown as Pick<ClusterClient, 'list'>,
      kind: configMapKind,
      scope: { namespace: 'default' },
      cache,
      clock,
      log: silentLogger,
      limits: { deadlineMs: 5_000, pace: { burst: 3, refillMs: 1_000 } },
    })
  })

  const ask = (name: string) => void catchUp.now().then(() => done.push(name))
  const answer = async (...items: ConfigMap[]) => {
    lists.at(-1)?.resolve({ items, resourceVersion: '1' })
    await clock.advance(0)
  }

  it('waits until the cache has heard of what the cluster has', async () => {
    ask('one')
    await answer(object('a'), object('b'))
    cache.put(object('a'))
    await clock.advance(100)
    expect(done).toEqual([])
    cache.put(object('b'))
    await clock.advance(0)
    expect(done).toEqual(['one'])
  })

  it('waits for what was changed, too, and not for what was only touched', async () => {
    cache.put(object('a', 1))
    cache.put(object('b', 7))
    ask('one')
    await answer(object('a', 2), object('b', 7))
    cache.put(object('a', 1))
    await clock.advance(0)
    expect(done).toEqual([])
    cache.put(object('a', 3))
    await clock.advance(0)
    expect(done).toEqual(['one'])
  })

  it('does not wait for what has been deleted meanwhile', async () => {
    ask('one')
    await answer(object('a'))
    cache.put(object('a', 0))
    cache.remove({ namespace: 'default', name: 'a' })
    await clock.advance(0)
    expect(done).toEqual(['one'])
  })

  it('asks once for all who come while it asks', async () => {
    for (const name of ['one', 'two', 'three']) ask(name)
    expect(lists).toHaveLength(1)
    await answer()
    // The first list may have been read before the others came.
    expect([done, lists.length]).toEqual([['one'], 2])
    await answer()
    expect([done, lists.length]).toEqual([['one', 'two', 'three'], 2])
  })

  it('gives up when the cluster does not answer, or the cache hears nothing', async () => {
    ask('one')
    await clock.advance(5_000)
    expect([done, lists[0]?.signal?.aborted]).toEqual([['one'], true])
    ask('two')
    await answer(object('a'))
    await clock.advance(4_999)
    expect(done).toEqual(['one'])
    await clock.advance(1)
    expect(done).toEqual(['one', 'two'])
    ask('three')
    lists.at(-1)?.reject(new Error('no'))
    await clock.advance(0)
    expect(done).toEqual(['one', 'two', 'three'])
  })

  it('does not ask more often than is bearable, however many names are asked for', async () => {
    for (let count = 0; count < 20; count++) {
      ask('one')
      await answer()
    }
    expect([done.length, lists.length]).toEqual([20, 3])
    await clock.advance(1_000)
    ask('later')
    await answer()
    expect(lists).toHaveLength(4)
  })
})
