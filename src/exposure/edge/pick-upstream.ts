import { type RouteEndpoint, upstreamKey } from '../routes/service-endpoints.ts'

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
