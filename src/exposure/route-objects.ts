import { type EndpointSlice, serviceNameLabel } from '../resources/endpoint-slice.ts'
import { keyOf, refOf } from '../resources/kubernetes-object.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import { byAge, type ExposureFacts, hostFor, hostOf } from './host-owners.ts'
import { upstreamKey } from './pick-upstream.ts'
import type { RouteLookups } from './plan-host.ts'
import type { RouteEndpoint } from './service-endpoints.ts'

/** What has to be planned again after a change. */
export interface Touched {
  readonly hosts: readonly string[]
  /** Every host that leads to one of these addresses is touched, too. */
  readonly addresses: readonly string[]
}

/** The Service behind which every cluster has its API. */
const apiService = keyOf({ namespace: 'default', name: 'kubernetes' })

/** The objects that routes are planned from, ordered as a plan looks them up. Every change says what it touches. */
export class RouteObjects implements RouteLookups {
  readonly #facts: ExposureFacts
  /** By host, then by the exporter's `namespace/name`. */
  readonly #claims = new Map<string, Map<string, ServiceExporter>>()
  readonly #services = new Map<string, Service>()
  /** By the Service's `namespace/name`, then by the slice's name. */
  readonly #slices = new Map<string, Map<string, EndpointSlice>>()
  /** How many Services have the address. */
  readonly #serviceAddresses = new Map<string, number>()
  #apiPlaces: ReadonlySet<string> = new Set()

  constructor(facts: ExposureFacts) {
    this.#facts = facts
  }

  get hosts(): Iterable<string> {
    return this.#claims.keys()
  }

  /** The exporters that ask for the host, the oldest first. */
  claimsOf(host: string): readonly ServiceExporter[] {
    return byAge([...(this.#claims.get(host)?.values() ?? [])])
  }

  serviceOf(key: string): Service | undefined {
    return this.#services.get(key)
  }

  slicesOf(serviceKey: string): readonly EndpointSlice[] {
    return [...(this.#slices.get(serviceKey)?.values() ?? [])]
  }

  isClusterPlace(endpoint: RouteEndpoint): boolean {
    return this.#serviceAddresses.has(endpoint.host) || this.#apiPlaces.has(upstreamKey(endpoint))
  }

  changeExporter(previous: ServiceExporter | undefined, now: ServiceExporter | undefined): Touched {
    const hosts: string[] = []
    if (previous) {
      const host = hostOf(previous, this.#facts)
      removeFrom(this.#claims, host, keyOf(refOf(previous)))
      hosts.push(host)
    }
    if (now && now.metadata.deletionTimestamp === undefined) {
      const host = hostOf(now, this.#facts)
      putInto(this.#claims, host, keyOf(refOf(now)), now)
      hosts.push(host)
    }
    return { hosts, addresses: [] }
  }

  changeService(previous: Service | undefined, now: Service | undefined): Touched {
    const one = now ?? previous
    if (!one) return nothing
    const { namespace, name } = refOf(one)
    const key = keyOf({ namespace, name })
    if (now) this.#services.set(key, now)
    else this.#services.delete(key)
    return {
      hosts: [hostFor(name, namespace ?? 'default', this.#facts)],
      addresses: this.#countAddresses(addressesOf(previous), addressesOf(now)),
    }
  }

  changeSlice(previous: EndpointSlice | undefined, now: EndpointSlice | undefined): Touched {
    const [before, after] = [serviceOfSlice(previous), serviceOfSlice(now)]
    if (previous && before) removeFrom(this.#slices, keyOf(before), previous.metadata.name)
    if (now && after) putInto(this.#slices, keyOf(after), now.metadata.name, now)
    const services = [before, after].filter((one) => one !== undefined)
    const isApi = services.some((one) => keyOf(one) === apiService)
    if (isApi) this.#apiPlaces = placesOf(this.slicesOf(apiService))
    return {
      hosts: services.map(({ namespace, name }) => hostFor(name, namespace, this.#facts)),
      addresses: isApi
        ? [previous, now].flatMap((slice) => slice?.endpoints.flatMap((one) => one.addresses) ?? [])
        : [],
    }
  }

  /** Returns the addresses that came or went. */
  #countAddresses(before: readonly string[], after: readonly string[]): readonly string[] {
    if (before.join() === after.join()) return nothing.addresses
    for (const address of after) this.#serviceAddresses.set(address, (this.#serviceAddresses.get(address) ?? 0) + 1)
    for (const address of before) {
      const left = (this.#serviceAddresses.get(address) ?? 0) - 1
      if (left > 0) this.#serviceAddresses.set(address, left)
      else this.#serviceAddresses.delete(address)
    }
    return [...before, ...after]
  }
}

const nothing: Touched = { hosts: [], addresses: [] }

function addressesOf(service: Service | undefined): readonly string[] {
  if (!service) return []
  const { clusterIP = '', clusterIPs = [] } = service.spec
  return [...new Set([clusterIP, ...clusterIPs])]
}

function serviceOfSlice(slice: EndpointSlice | undefined): { namespace: string; name: string } | undefined {
  const name = slice?.metadata.labels?.[serviceNameLabel]
  return name === undefined ? undefined : { namespace: slice?.metadata.namespace ?? 'default', name }
}

function placesOf(slices: readonly EndpointSlice[]): ReadonlySet<string> {
  const places = new Set<string>()
  for (const { endpoints, ports } of slices) {
    for (const host of endpoints.flatMap((endpoint) => endpoint.addresses)) {
      for (const { port = 0 } of ports ?? []) places.add(upstreamKey({ host, port }))
    }
  }
  return places
}

function putInto<T>(groups: Map<string, Map<string, T>>, group: string, key: string, value: T): void {
  const members = groups.get(group)
  if (members) members.set(key, value)
  else groups.set(group, new Map([[key, value]]))
}

function removeFrom<T>(groups: Map<string, Map<string, T>>, group: string, key: string): void {
  const members = groups.get(group)
  members?.delete(key)
  if (members?.size === 0) groups.delete(group)
}
