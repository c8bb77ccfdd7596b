import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import type { Model } from '../../resources/model.ts'
import { FakeCache, fakeModel } from '../../traffic/cluster-view.fixture.ts'
import { MirrorFeed, type MirrorNews } from './mirror-feed.ts'
import { ObjectMirror } from './object-mirror.ts'

function setUp(synced = true) {
  const cache = new FakeCache<Model>()
  cache.synced = synced
  const clock = new FakeClock()
  const mirror = new ObjectMirror<Model>()
  const told: Array<MirrorNews<Model>> = []
  const feed = new MirrorFeed({
    cache,
    concerns: ({ metadata }) => metadata.namespace === 'sluice',
    tell: (news) => {
      told.push(news)
      // Cloned, as when it is posted to another thread.
      mirror.hear(structuredClone(news))
    },
    clock,
  })
  return { cache, clock, mirror, told, feed }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const ref = (name: string) => ({ namespace: 'sluice', name })

describe('a mirrored cache', () => {
  it('has what there was and what changes, each change of a turn told once', async () => {
    const { cache, mirror, told, feed } = setUp()
    cache.put(fakeModel('one'))
    mirror.hear(feed.whole())
    expect(mirror.get(ref('one'))).toEqual(fakeModel('one'))
    const changes: string[] = []
    mirror.onChange(({ type, object }) => changes.push(`${type} ${object.metadata.name}`))
    await turn()
    told.length = 0
    changes.length = 0
    for (const phase of ['Waking', 'Ready', 'Asleep'] as const) cache.put(fakeModel('one', phase))
    cache.put(fakeModel('two'))
    cache.remove(ref('two'))
    cache.put(fakeModel('three'))
    await turn()
    expect(told).toHaveLength(1)
    expect(changes).toEqual(['updated one', 'added three'])
    cache.remove(ref('one'))
    await turn()
    expect(mirror.list()).toEqual([fakeModel('three')])
    expect(changes.at(-1)).toBe('deleted one')
  })

  it('tells nothing of what does not concern the other thread', async () => {
    const { cache, mirror, told } = setUp()
    const model = fakeModel('one')
    cache.put({ ...model, metadata: { ...model.metadata, namespace: 'elsewhere' } })
    await turn()
    expect([told, mirror.list()]).toEqual([[], []])
  })

  it('is synced when the cache is, though nothing is in it', async () => {
    const { cache, clock, mirror, feed } = setUp(false)
    mirror.hear(feed.whole())
    expect(mirror.synced).toBe(false)
    cache.synced = true
    await clock.advance(100)
    expect(mirror.synced).toBe(true)
  })

  it('tells nothing once it is closed', async () => {
    const { cache, told, feed } = setUp()
    cache.put(fakeModel('one'))
    feed.close()
    cache.put(fakeModel('two'))
    await turn()
    expect(told).toEqual([])
  })
})
