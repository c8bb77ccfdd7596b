export interface EndpointLoad {
  readonly name: string
  readonly inFlight: number
  /** How many requests it takes at the same time. */
  readonly capacity: number
}

export interface PickOptions<E> {
  readonly exclude?: ReadonlySet<string> | undefined
  /** Equally busy endpoints take turns by name, starting after this one. */
  readonly lastPicked?: string
  /** How many of the prompt's first blocks an endpoint has seen before. */
  readonly knownBlocks?: ReadonlyMap<E, number> | undefined
}

/** An endpoint that knows the prompt is chosen while its load is at most this many times the average. */
const loadFactor = 1.25

/**
 * Picks the endpoint that knows the longest beginning of the prompt, unless it is much busier than the others; else the
 * least busy one. Never an excluded or full one. The order of `endpoints` does not matter.
 */
export function pickEndpoint<E extends EndpointLoad>(
  endpoints: Iterable<E>,
  { exclude, lastPicked = '', knownBlocks }: PickOptions<E> = {},
): E | undefined {
  let best: E | undefined
  let count = 0
  let total = 0
  for (const endpoint of endpoints) {
    if (!isUsable(endpoint, exclude)) continue
    count++
    total += endpoint.inFlight
    if (!best || comesBefore(endpoint, best, lastPicked)) best = endpoint
  }
  if (!best || count === 1 || !knownBlocks?.size) return best
  const most = Math.ceil((loadFactor * (total + 1)) / count)
  let knowing: E | undefined
  let longest = 0
  for (const [endpoint, blocks] of knownBlocks) {
    if (blocks < longest || endpoint.inFlight >= most || !isUsable(endpoint, exclude)) continue
    if (blocks === longest && knowing && !comesBefore(endpoint, knowing, lastPicked)) continue
    knowing = endpoint
    longest = blocks
  }
  return knowing ?? best
}

function isUsable(endpoint: EndpointLoad, exclude: ReadonlySet<string> | undefined): boolean {
  return endpoint.inFlight < endpoint.capacity && exclude?.has(endpoint.name) !== true
}

function comesBefore(one: EndpointLoad, other: EndpointLoad, lastPicked: string): boolean {
  if (one.inFlight !== other.inFlight) return one.inFlight < other.inFlight
  const oneIsNext = one.name > lastPicked
  if (oneIsNext !== other.name > lastPicked) return oneIsNext
  return one.name < other.name
}
