import { type EndpointSlice, serviceNameLabel } from '../../../resources/endpoint-slice.ts'
import { keyOf, refOf } from '../../../resources/kubernetes-object.ts'
import type { Service } from '../../../resources/service.ts'
import { type AddressFamily, type AddressRange, placeIn, plainAddress } from '../../../resources/address-range.ts'

export type ServiceProtocol = 'tcp' | 'udp'

export interface ServicePlace {
  readonly address: string
  readonly protocol: ServiceProtocol
  readonly port: number
}

export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** One port of a Service and its endpoints. */
export interface ServiceRoute extends ServicePlace {
  readonly endpoints: readonly Endpoint[]
  /** How long a client sticks to its first endpoint. */
  readonly affinitySeconds?: number
}

export interface ServicePlan {
  readonly routes: readonly ServiceRoute[]
  /** Ports that a program on this machine listens on. */
  readonly local: readonly ServicePlace[]
}

export interface ServiceSources {
  readonly services: readonly Service[]
  readonly slices: readonly EndpointSlice[]
  /** The range of Service addresses; those of the other family are planned separately. */
  readonly range: AddressRange
  /** Whether an address belongs to this machine: then a program on it listens for the Service. */
  isMachine(address: string): boolean
  /** `namespace/name` of Services that a program on this machine always serves. */
  readonly servedHere: ReadonlySet<string>
}

type ServicePort = NonNullable<Service['spec']['ports']>[number]

const usualAffinitySeconds = 10_800

/** Services without endpoints are in neither list: connections to them are refused. */
export function planServices(sources: ServiceSources): ServicePlan {
  const slices = slicesByService(sources.slices, sources.range.family)
  const routes: ServiceRoute[] = []
  const local: ServicePlace[] = []
  for (const service of sources.services) {
    const { ports = [], type } = service.spec
    const clusterIP = clusterAddresses(service).find((address) => placeIn(sources.range, address) !== undefined)
    if (type === 'ExternalName' || clusterIP === undefined) continue
    const key = keyOf(refOf(service))
    for (const port of ports) {
      const protocol = protocolOf(port.protocol)
      if (protocol === undefined) continue
      const place = { address: plain(clusterIP), protocol, port: port.port }
      const { outside, machine } = endpointsOf(port, slices.get(key) ?? [], sources)
      if (sources.servedHere.has(key) || (outside.length === 0 && machine)) local.push(place)
      else if (outside.length > 0) routes.push({ ...place, endpoints: outside, ...affinityOf(service) })
    }
  }
  return { routes, local }
}

function clusterAddresses({ spec }: Service): readonly string[] {
  return spec.clusterIPs && spec.clusterIPs.length > 0 ? spec.clusterIPs : [spec.clusterIP ?? '']
}

function slicesByService(slices: readonly EndpointSlice[], family: AddressFamily): Map<string, EndpointSlice[]> {
  const byService = new Map<string, EndpointSlice[]>()
  for (const slice of slices) {
    const name = slice.metadata.labels?.[serviceNameLabel]
    if (name === undefined || slice.addressType !== `IPv${family}`) continue
    const key = keyOf({ namespace: slice.metadata.namespace, name })
    const together = byService.get(key)
    if (together) together.push(slice)
    else byService.set(key, [slice])
  }
  return byService
}

interface Found {
  readonly outside: readonly Endpoint[]
  readonly machine: boolean
}

/** The ready endpoints or, if none is, those that are terminating but still serve. */
function endpointsOf(port: ServicePort, slices: readonly EndpointSlice[], sources: ServiceSources): Found {
  const all = slices.flatMap((slice) => {
    const number = slicePortOf(slice, port)
    return number === undefined ? [] : slice.endpoints.map((endpoint) => ({ ...endpoint, port: number }))
  })
  const ready = all.filter(({ conditions }) => conditions?.ready !== false && conditions?.terminating !== true)
  const ending = all.filter(({ conditions }) => conditions?.terminating === true && conditions.serving !== false)
  const outside = new Map<string, Endpoint>()
  let machine = false
  for (const { addresses, port: number } of ready.length > 0 ? ready : ending) {
    // Further addresses belong to the same endpoint.
    const address = plain(addresses[0] ?? '')
    if (sources.isMachine(address)) machine = true
    else if (isReachable(address)) outside.set(`${address} ${number}`, { address, port: number })
  }
  return { outside: [...outside].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each), machine }
}

/** Slices name the Service's port; one made by hand may only have its number. */
function slicePortOf({ ports = [] }: EndpointSlice, port: ServicePort): number | undefined {
  const same = ports.filter(({ protocol }) => protocol === port.protocol)
  const byName = same.find(({ name }) => (name ?? '') === (port.name ?? ''))
  const byNumber = same.find((one) => one.port === (port.targetPort ?? port.port))
  return (byName ?? byNumber)?.port
}

function affinityOf({ spec }: Service): { affinitySeconds?: number } {
  if (spec.sessionAffinity !== 'ClientIP') return {}
  return { affinitySeconds: spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? usualAffinitySeconds }
}

/** Whether traffic can be routed to the address: not loopback, link-local or multicast. */
function isReachable(address: string): boolean {
  // IPv6 addresses beginning with zeros are loopback, unspecified, or disguised IPv4.
  if (address.includes(':')) return !/^(?:::|f[ef])/.test(address)
  const [first = 0, second] = address.split('.').map(Number)
  return first > 0 && first !== 127 && first < 224 && !(first === 169 && second === 254)
}

function protocolOf(text: string): ServiceProtocol | undefined {
  return text === 'TCP' ? 'tcp' : text === 'UDP' ? 'udp' : undefined
}

/** The address in normal form; empty if it is none. */
function plain(address: string): string {
  return plainAddress(address) ?? ''
}
