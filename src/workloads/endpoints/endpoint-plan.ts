import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { type EndpointSlice, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import { type Pod, isPodFinished, isPodReady, isPodTerminating } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'

export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'
export const managedByUs = 'endpointslice-controller.k8s.io'

type SlicePort = NonNullable<EndpointSlice['ports']>[number]
type Endpoint = EndpointSlice['endpoints'][number]

type Family = 'IPv4' | 'IPv6'

/**
 * The slices a Service with a selector should have: for each of its families, one for each set of ports its Pods
 * resolve to.
 */
export function planEndpointSlices(service: Service, pods: readonly Pod[]): EndpointSlice[] {
  return familiesOf(service).flatMap((family) => planFamily(service, pods, family))
}

/** Services from before there were families have the first. */
export function familiesOf({ spec }: Service): readonly Family[] {
  const families = (['IPv4', 'IPv6'] as const).filter((family) => spec.ipFamilies?.includes(family))
  return families.length > 0 ? families : ['IPv4']
}

function planFamily(service: Service, pods: readonly Pod[], family: Family): EndpointSlice[] {
  const groups = new Map<string, { ports: SlicePort[]; endpoints: Endpoint[] }>()
  const open = (ports: SlicePort[]) => {
    const key = JSON.stringify(ports)
    const group = groups.get(key) ?? { ports, endpoints: [] }
    groups.set(key, group)
    return group
  }
  for (const pod of pods) {
    const address = addressOf(pod, family)
    if (address === undefined || !isSelected(service, pod) || isPodFinished(pod)) continue
    open(portsFor(service, pod)).endpoints.push(endpointOf(service, pod, address))
  }
  // A Service without Pods has one empty slice, which says that there are none, rather than that it is not known yet.
  if (groups.size === 0) open([])
  return [...groups.values()].map(({ ports, endpoints }) => sliceOf(service, family, ports, endpoints))
}

function addressOf({ status }: Pod, family: Family): string | undefined {
  const version = family === 'IPv4' ? 4 : 6
  const all = [status?.podIP ?? '', ...(status?.podIPs ?? []).map(({ ip }) => ip)]
  return all.find((address) => isIP(address) === version)
}

export function hasSelector(service: Service): boolean {
  return Object.keys(service.spec.selector ?? {}).length > 0 && service.spec.type !== 'ExternalName'
}

export function isSelected(service: Service, pod: Pod): boolean {
  if (!hasSelector(service) || pod.metadata.namespace !== service.metadata.namespace) return false
  const labels = pod.metadata.labels ?? {}
  return Object.entries(service.spec.selector ?? {}).every(([key, value]) => labels[key] === value)
}

function endpointOf(service: Service, pod: Pod, address: string): Endpoint {
  const serving = isPodReady(pod) || service.spec['publishNotReadyAddresses'] === true
  const terminating = isPodTerminating(pod)
  const { name, namespace, uid } = pod.metadata
  const { hostname, subdomain } = pod.spec
  return {
    addresses: [address],
    // Under this name it is found in the cluster's DNS.
    ...(typeof hostname === 'string' && subdomain === service.metadata.name && { hostname }),
    conditions: { ready: serving && !terminating, serving, terminating },
    ...(pod.spec.nodeName !== undefined && { nodeName: pod.spec.nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  }
}

/** A port name that a Pod does not have is left out for it. */
function portsFor(service: Service, pod: Pod): SlicePort[] {
  return (service.spec.ports ?? []).flatMap(({ name = '', port, targetPort = port, protocol }) => {
    const number = typeof targetPort === 'number' ? targetPort : namedPort(pod, targetPort, protocol)
    return number === undefined ? [] : [{ name, port: number, protocol }]
  })
}

function namedPort(pod: Pod, wanted: string, protocol: string): number | undefined {
  if (/^\d+$/.test(wanted)) return Number(wanted)
  const ports = pod.spec.containers.flatMap((container) => container.ports ?? [])
  return ports.find((port) => port.name === wanted && port.protocol === protocol)?.containerPort
}

function sliceOf(service: Service, family: Family, ports: SlicePort[], endpoints: Endpoint[]): EndpointSlice {
  const { name, namespace, uid = '' } = service.metadata
  // IPv4 slices keep the names they had when there was nothing else.
  const about = family === 'IPv4' ? ports : [family, ports]
  const suffix = createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 5)
  const owner = { apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${suffix}`,
      ...(namespace !== undefined && { namespace }),
      labels: { [serviceNameLabel]: name, [managedByLabel]: managedByUs },
      ownerReferences: [owner],
    },
    addressType: family,
    endpoints: endpoints.toSorted((a, b) => (a.addresses[0] ?? '').localeCompare(b.addresses[0] ?? '')),
    ports,
  }
}
