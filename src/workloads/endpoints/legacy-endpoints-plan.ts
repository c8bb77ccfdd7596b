import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import type { EndpointAddress, EndpointSubset, Endpoints } from '../../resources/endpoints.ts'
import type { Service } from '../../resources/service.ts'

export const endpointsManagedByLabel = 'endpoints.kubernetes.io/managed-by'
export const endpointsManager = 'endpoint-controller'
const headlessLabel = 'service.kubernetes.io/headless'
const overCapacity = 'endpoints.kubernetes.io/over-capacity'

/** The limit of Kubernetes: a Service has a single Endpoints object, which must not become too large. */
export const mostAddresses = 1_000

/** The Endpoints of a Service with a selector: the content of its slices in the older form. */
export function planLegacyEndpoints(service: Service, slices: readonly EndpointSlice[]): Endpoints {
  const { name, namespace, labels } = service.metadata
  let room = mostAddresses
  const take = (addresses: EndpointAddress[]) => {
    const taken = addresses.slice(0, room)
    room -= taken.length
    return taken
  }
  // For a Service with two families, only the first is shown.
  const [family = 'IPv4'] = service.spec.ipFamilies ?? []
  const first = slices.filter(({ addressType }) => addressType === family)
  const sorted = first.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  const subsets = sorted.flatMap((slice): EndpointSubset[] => {
    const [addresses, notReadyAddresses] = [take(addressesOf(slice, true)), take(addressesOf(slice, false))]
    if (addresses.length + notReadyAddresses.length === 0) return []
    return [
      {
        ...(addresses.length > 0 && { addresses }),
        ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
        ...(slice.ports && slice.ports.length > 0 && { ports: portsOf(slice.ports) }),
      },
    ]
  })
  const isTruncated =
    sorted.flatMap(({ endpoints }) => endpoints.filter((one) => !isLeaving(one))).length > mostAddresses
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: {
        ...labels,
        [endpointsManagedByLabel]: endpointsManager,
        ...(service.spec.clusterIP === 'None' && { [headlessLabel]: '' }),
      },
      ...(isTruncated && { annotations: { [overCapacity]: 'truncated' } }),
    },
    subsets,
  }
}

type Endpoint = EndpointSlice['endpoints'][number]

function isLeaving({ conditions }: Endpoint): boolean {
  return conditions?.terminating === true && conditions.ready !== true
}

function addressesOf({ endpoints }: EndpointSlice, ready: boolean): EndpointAddress[] {
  const chosen = endpoints.filter((one) => (one.conditions?.ready !== false) === ready && !isLeaving(one))
  return chosen.flatMap(({ addresses: [ip], hostname, nodeName, targetRef }) => {
    if (ip === undefined) return []
    return [
      {
        ip,
        ...(hostname !== undefined && { hostname }),
        ...(nodeName !== undefined && { nodeName }),
        ...(targetRef && { targetRef }),
      },
    ]
  })
}

function portsOf(ports: NonNullable<EndpointSlice['ports']>): NonNullable<EndpointSubset['ports']> {
  return ports.flatMap(({ name, port, protocol }) =>
    port === undefined ? [] : [{ ...(name ? { name } : {}), port, protocol }],
  )
}
