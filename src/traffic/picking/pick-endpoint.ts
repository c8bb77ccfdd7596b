export interface EndpointLoad {
  readonly name: string
  readonly inFlight: number
  /** How many requests it takes at a time. */
  readonly capacity: number
}

export interface PickOptions<E> {
  readonly exclude?: ReadonlySet<string> | undefined
  /** Equally busy ones take turns by name, beginning after this one. */
  readonly lastPicked?: string
  /** How many of the prompt's first blocks an endpoint has seen before. */
  readonly knownBlocks?: ReadonlyMap<E, number> | undefined
}

/** How much more than the average an endpoint may have and still be chosen for what it knows. */
const loadFactor = 1.25

/**
 * The endpoint that knows the longest beginning of the prompt and is not much busier than the others; where none does,
 * the least busy. Never an excluded or a full one. The order of `endpoints` does not matter.
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
