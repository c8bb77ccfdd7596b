import type { RouteEndpoint } from './service-endpoints.ts'

/** Remembered by endpoint: a text put together anew for every request would have to be hashed each time. */
const keys = new WeakMap<RouteEndpoint, string>()

/** What an endpoint is known by, also after its route was planned anew. */
export function upstreamKey(endpoint: RouteEndpoint): string {
  const known = keys.get(endpoint)
  if (known !== undefined) return known
  const key = `${endpoint.host} ${endpoint.port}`
  keys.set(endpoint, key)
  return key
}

/** The least used endpoint that is not excluded; equally used ones take turns. */
export function pickUpstream(
  endpoints: readonly RouteEndpoint[],
  inFlight: ReadonlyMap<string, number>,
  turn: number,
  exclude: ReadonlySet<string>,
): RouteEndpoint | undefined {
  if (endpoints.length === 1 && exclude.size === 0) return endpoints[0]
  let best: RouteEndpoint | undefined
  let bestLoad = Number.POSITIVE_INFINITY
  for (let step = 0; step < endpoints.length; step++) {
    const endpoint = endpoints[(turn + step) % endpoints.length]
    if (!endpoint || exclude.has(upstreamKey(endpoint))) continue
    const load = inFlight.get(upstreamKey(endpoint)) ?? 0
    if (load >= bestLoad) continue
    best = endpoint
    bestLoad = load
  }
  return best
}
