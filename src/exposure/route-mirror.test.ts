import { describe, expect, it } from 'vitest'
import type { ExposureRoute } from './plan-host.ts'
import type { RouteChange } from './route-table.ts'
import { RouteFeed, RouteMirror, type RouteNews } from './route-mirror.ts'

const route = (host: string, port = 1, exporter = `web/${host}`): ExposureRoute => ({
  host,
  cluster: 'c1',
  exporter,
  endpoints: [{ host: '127.0.0.1', port }],
})

/** Routes that are planned anew with every change, as a RouteTable does it. */
function setUp(...first: ExposureRoute[]) {
  let now = first
  let changed = (_change: RouteChange) => {}
  const source = {
    get routes() {
      return new Map(now.map((one) => [one.host, structuredClone(one)]))
    },
    find: (host: string) => now.find((one) => one.host === host),
    onChange: (listener: (change: RouteChange) => void) => {
      changed = listener
      return () => (changed = () => {})
    },
  }
  const mirror = new RouteMirror()
  const told: RouteNews[] = []
  const feed = new RouteFeed(source, (news) => {
    told.push(news)
    mirror.hear(structuredClone(news))
  })
  mirror.hear(feed.whole())
  const become = (...routes: ExposureRoute[]) => {
    const hosts = new Set([...now, ...routes].map(({ host }) => host))
    now = routes.map((one) => structuredClone(one))
    changed({ hosts, exporters: new Set() })
  }
  const moveAll = (...routes: ExposureRoute[]) => {
    now = routes
    changed('all')
  }
  return { feed, mirror, told, become, moveAll }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('routes in another thread', () => {
  it('are those of this one, and only what changed is told, once for a turn', async () => {
    const { mirror, told, become } = setUp(route('a'), route('b'))
    expect(mirror.find('a')).toEqual(route('a'))
    become(route('a'), route('b', 2))
    become(route('a'), route('b', 3), route('c'))
    await turn()
    expect(told).toEqual([{ put: [route('b', 3), route('c')], gone: [] }])
    become(route('a'), route('c'))
    await turn()
    expect(told[1]).toEqual({ put: [], gone: ['b'] })
    expect(mirror.find('b')).toBeUndefined()
    become(route('a'), route('c'))
    await turn()
    expect(told).toHaveLength(2)
  })

  it('are compared one by one when all of them may have changed', async () => {
    const { told, moveAll } = setUp(route('a'), route('b'))
    moveAll(route('b'), route('c'))
    await turn()
    expect(told).toEqual([{ put: [route('c')], gone: ['a'] }])
  })

  it('are whole for somebody new in the middle of a change, and not told twice', async () => {
    const { feed, told, become } = setUp(route('a'))
    become(route('a'), route('b'))
    expect(feed.whole().put).toEqual([route('a'), route('b')])
    await turn()
    expect(told).toEqual([{ put: [route('b')], gone: [] }])
    feed.close()
    become()
    await turn()
    expect(told).toHaveLength(1)
  })
})
