import { expect, it } from 'vitest'
import { JoinedRoutes } from './joined-routes.ts'
import type { ExposureRoute } from './plan-host.ts'
import type { RouteChange } from './route-table.ts'

function source(...hosts: string[]) {
  const listeners = new Set<(change: RouteChange) => void>()
  const routeOf = (host: string): [string, ExposureRoute] => [
    host,
    { host, cluster: 'c1', exporter: 'a/b', endpoints: [] },
  ]
  let routes = new Map(hosts.map(routeOf))
  return {
    get routes() {
      return routes
    },
    find: (host: string) => routes.get(host),
    onChange(listener: (change: RouteChange) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    become(...next: string[]) {
      routes = new Map(next.map(routeOf))
      for (const listener of listeners) listener({ hosts: new Set(next), exporters: new Set() })
    },
    listeners,
  }
}

it('has the routes of all clusters, as they come, change and go', () => {
  const joined = new JoinedRoutes()
  const told: RouteChange[] = []
  joined.onChange((change) => told.push(change))
  const [one, two] = [source('a.one'), source('a.two')]
  joined.add(one)
  const takeOut = joined.add(two)
  expect([...joined.routes.keys()]).toEqual(['a.one', 'a.two'])
  two.become('a.two', 'b.two')
  expect([...joined.routes.keys()]).toEqual(['a.one', 'a.two', 'b.two'])
  expect(joined.find('b.two')).toMatchObject({ host: 'b.two' })
  takeOut()
  expect([...joined.routes.keys()]).toEqual(['a.one'])
  expect(two.listeners.size).toBe(0)
  expect(joined.find('b.two')).toBeUndefined()
  expect(told).toEqual(['all', 'all', { hosts: new Set(['a.two', 'b.two']), exporters: new Set() }, 'all'])
})
