import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import type { Service } from '../../resources/service.ts'

export interface RouteEndpoint {
  readonly host: string
  readonly port: number
}

/** Keys by endpoint. Making the text for every request would also mean hashing it each time. */
const keys = new WeakMap<RouteEndpoint, string>()

/** Identifies an endpoint, also after its route was planned again. */
export function upstreamKey(endpoint: RouteEndpoint): string {
  const known = keys.get(endpoint)
  if (known !== undefined) return known
  const key = `${endpoint.host} ${endpoint.port}`
  keys.set(endpoint, key)
  return key
}

export type ServicePort = NonNullable<Service['spec']['ports']>[number]

export function servicePortOf(service: Service, port: number): ServicePort | undefined {
  return service.spec.ports?.find((one) => one.port === port && one.protocol === 'TCP')
}

/** Whether a Service of the namespace may lead to the endpoint. */
export type MayReach = (namespace: string, endpoint: RouteEndpoint) => boolean

/** The ready addresses behind one port of a Service, sorted and each once. */
export function readyEndpoints(port: ServicePort, slices: readonly EndpointSlice[]): readonly RouteEndpoint[] {
  const found = new Map<string, RouteEndpoint>()
  for (const slice of ofOneFamily(slices)) {
    const slicePort = slicePortOf(slice, port)
    if (slicePort === undefined || slice.addressType === 'FQDN') continue
    for (const { addresses, conditions } of slice.endpoints) {
      // Kubernetes: an unset `ready` means ready.
      if (conditions?.ready === false || conditions?.terminating === true) continue
      // Further addresses of an endpoint are the same endpoint.
      const [host] = addresses
      if (host !== undefined) found.set(`${host} ${slicePort}`, { host, port: slicePort })
    }
  }
  return [...found.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, endpoint]) => endpoint)
}

/** Slices of one address family: an endpoint with an address of each family must not count twice. */
function ofOneFamily(slices: readonly EndpointSlice[]): readonly EndpointSlice[] {
  const first = slices.filter(({ addressType }) => addressType === 'IPv4')
  return first.some(({ endpoints }) => endpoints.length > 0) ? first : slices
}

/** Slices have the name of the Service's port; one that was written by hand may only have the number. */
function slicePortOf({ ports = [] }: EndpointSlice, port: ServicePort): number | undefined {
  const tcp = ports.filter(({ protocol }) => protocol === 'TCP')
  const byName = tcp.find(({ name }) => (name ?? '') === (port.name ?? ''))
  const byNumber = tcp.find((one) => one.port === (port.targetPort ?? port.port))
  return (byName ?? byNumber)?.port
}
