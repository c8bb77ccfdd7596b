import type { RouteEndpoint } from './service-endpoints.ts'

export function upstreamKey({ host, port }: RouteEndpoint): string {
  return `${host} ${port}`
}

/** The least used endpoint; equally used ones take turns. */
export function pickUpstream(
  endpoints: readonly RouteEndpoint[],
  inFlight: ReadonlyMap<string, number>,
  turn: number,
  exclude: ReadonlySet<string>,
): RouteEndpoint | undefined {
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
