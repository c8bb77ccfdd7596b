import { expect, it } from 'vitest'
import { JoinedRoutes } from './joined-routes.ts'
import type { ExposureRoute } from './plan-routes.ts'

function source(...hosts: string[]) {
  const listeners = new Set<() => void>()
  const routeOf = (host: string): [string, ExposureRoute] => [host, { host, exporter: 'a/b', endpoints: [] }]
  let routes = new Map(hosts.map(routeOf))
  return {
    get routes() {
      return routes
    },
    onChange(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    become(...next: string[]) {
      routes = new Map(next.map(routeOf))
      for (const listener of listeners) listener()
    },
    listeners,
  }
}

it('has the routes of all clusters, as they come, change and go', () => {
  const joined = new JoinedRoutes()
  let told = 0
  joined.onChange(() => (told += 1))
  const [one, two] = [source('a.one'), source('a.two')]
  joined.add(one)
  const takeOut = joined.add(two)
  expect([...joined.routes.keys()]).toEqual(['a.one', 'a.two'])
  two.become('a.two', 'b.two')
  expect([...joined.routes.keys()]).toEqual(['a.one', 'a.two', 'b.two'])
  takeOut()
  expect([...joined.routes.keys()]).toEqual(['a.one'])
  expect(two.listeners.size).toBe(0)
  expect(told).toBe(4)
})
