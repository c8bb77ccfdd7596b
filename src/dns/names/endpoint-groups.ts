import type { NamedEndpoint } from './named-service.ts'

/** The endpoints of one Service. */
interface EndpointGroup {
  readonly slices: Map<string, readonly NamedEndpoint[]>
  /** By the first label of their names, in lower case. */
  readonly byLabel: Map<string, Set<NamedEndpoint>>
}

const nobody: ReadonlyMap<string, readonly NamedEndpoint[]> = new Map()
const none: ReadonlySet<NamedEndpoint> = new Set()

/**
 * The endpoints of every Service, by slice: a change costs as much as its slice has, and a look-up as much as it finds.
 */
export class EndpointGroups {
  readonly #groups = new Map<string, EndpointGroup>()
  readonly #byAddress = new Map<string, Set<NamedEndpoint>>()

  /** Replaces the endpoints of a slice; an empty list removes it. */
  put(service: string, slice: string, endpoints: readonly NamedEndpoint[]): void {
    const group = this.#groups.get(service) ?? { slices: new Map(), byLabel: new Map() }
    for (const endpoint of group.slices.get(slice) ?? []) {
      take(group.byLabel, endpoint.label.toLowerCase(), endpoint)
      take(this.#byAddress, endpoint.address.toString('latin1'), endpoint)
    }
    for (const endpoint of endpoints) {
      give(group.byLabel, endpoint.label.toLowerCase(), endpoint)
      give(this.#byAddress, endpoint.address.toString('latin1'), endpoint)
    }
    if (endpoints.length > 0) group.slices.set(slice, endpoints)
    else group.slices.delete(slice)
    if (group.slices.size > 0) this.#groups.set(service, group)
    else this.#groups.delete(service)
  }

  *of(service: string): Iterable<NamedEndpoint> {
    for (const endpoints of (this.#groups.get(service)?.slices ?? nobody).values()) yield* endpoints
  }

  labelled(service: string, label: string): Iterable<NamedEndpoint> {
    return this.#groups.get(service)?.byLabel.get(label) ?? none
  }

  at(address: string): Iterable<NamedEndpoint> {
    return this.#byAddress.get(address) ?? none
  }
}

function give<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key)
  if (set) set.add(value)
  else sets.set(key, new Set([value]))
}

function take<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key)
  if (set?.delete(value) && set.size === 0) sets.delete(key)
}
