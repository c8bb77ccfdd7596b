import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { type EndpointSlice, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import {
  type EndpointAddress,
  type EndpointSubset,
  type Endpoints,
  skipMirrorLabel,
} from '../../resources/endpoints.ts'
import type { Service } from '../../resources/service.ts'
import { hasSelector, managedByLabel } from './endpoint-plan.ts'
import { mostAddresses } from './legacy-endpoints-plan.ts'

export const managedByMirror = 'endpointslicemirroring-controller.k8s.io'

/** Leader locks were once kept in Endpoints; they lead nowhere. */
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader'
const notCopied = new Set([
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
])
const families = { IPv4: 4, IPv6: 6 } as const

/** Whether somebody wrote these Endpoints by hand, for a Service without a selector. */
export function isMirrored(endpoints: Endpoints, service: Service | undefined): boolean {
  if (!service || service.metadata.deletionTimestamp !== undefined || hasSelector(service)) return false
  if (endpoints.metadata.deletionTimestamp !== undefined) return false
  const { labels = {}, annotations = {} } = endpoints.metadata
  return labels[skipMirrorLabel] !== 'true' && !Object.hasOwn(annotations, leaderAnnotation)
}

/** The equivalent slices: one for each set of ports and each family of addresses. */
export function planMirroredSlices(endpoints: Endpoints): EndpointSlice[] {
  return (endpoints.subsets ?? []).flatMap((subset) =>
    (['IPv4', 'IPv6'] as const).flatMap((type) => {
      const found = endpointsOf(subset, families[type])
      return found.length === 0 ? [] : [sliceOf(endpoints, subset, type, found)]
    }),
  )
}

function endpointsOf({ addresses = [], notReadyAddresses = [] }: EndpointSubset, family: 4 | 6) {
  const of = (list: readonly EndpointAddress[], ready: boolean) =>
    list
      .filter(({ ip }) => isIP(ip) === family)
      .map(({ ip, hostname, nodeName, targetRef }) => ({
        addresses: [ip],
        conditions: { ready },
        ...(hostname !== undefined && { hostname }),
        ...(nodeName !== undefined && { nodeName }),
        ...(targetRef && { targetRef }),
      }))
  return [...of(addresses, true), ...of(notReadyAddresses, false)].slice(0, mostAddresses)
}

function sliceOf(
  { metadata }: Endpoints,
  { ports = [] }: EndpointSubset,
  addressType: 'IPv4' | 'IPv6',
  endpoints: EndpointSlice['endpoints'],
): EndpointSlice {
  const { name, namespace, uid = '', labels, annotations } = metadata
  const slicePorts = ports.map(({ name: portName = '', port, protocol }) => ({ name: portName, port, protocol }))
  const key = JSON.stringify([addressType, slicePorts])
  const suffix = createHash('sha256').update(key).digest('hex').slice(0, 5)
  const copied = Object.entries(annotations ?? {}).filter(([annotation]) => !notCopied.has(annotation))
  const owner = { apiVersion: 'v1', kind: 'Endpoints', name, uid, controller: true, blockOwnerDeletion: true }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${suffix}`,
      ...(namespace !== undefined && { namespace }),
      labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: managedByMirror },
      ...(copied.length > 0 && { annotations: Object.fromEntries(copied) }),
      ownerReferences: [owner],
    },
    addressType,
    endpoints,
    ports: slicePorts,
  }
}
