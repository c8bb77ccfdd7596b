export interface EndpointLoad {
  readonly name: string
  readonly inFlight: number
}

/**
 * The least busy endpoint that is not excluded. Equally busy ones take turns by name: the next name after `lastPicked`, or
 * the first one when there is none after it. The order of `endpoints` does not matter.
 */
export function pickEndpoint<E extends EndpointLoad>(
  endpoints: Iterable<E>,
  exclude: ReadonlySet<string> | undefined,
  lastPicked: string,
): E | undefined {
  let best: E | undefined
  for (const endpoint of endpoints) {
    if (exclude?.has(endpoint.name)) continue
    if (!best || comesBefore(endpoint, best, lastPicked)) best = endpoint
  }
  return best
}

function comesBefore(one: EndpointLoad, other: EndpointLoad, lastPicked: string): boolean {
  if (one.inFlight !== other.inFlight) return one.inFlight < other.inFlight
  const oneIsNext = one.name > lastPicked
  if (oneIsNext !== other.name > lastPicked) return oneIsNext
  return one.name < other.name
}
