import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import type { Service } from '../../resources/service.ts'
import { readyEndpoints, type RouteEndpoint } from '../routes/service-endpoints.ts'

/** One port of a Service at its own address, and where connections to it go. */
export interface ClusterIpRoute {
  readonly address: string
  readonly port: number
  readonly endpoints: readonly RouteEndpoint[]
  /** How long a client stays with the endpoint it first came to; `undefined` where every connection is for itself. */
  readonly affinityMs: number | undefined
}

/**
 * What to listen on for a Service: the TCP ports behind which something is ready. Where nothing is, nobody listens, and
 * a connection is refused as kube-proxy refuses it. Where somebody else leads to an endpoint, nobody listens either.
 */
export function planClusterIp(
  service: Service | undefined,
  slices: readonly EndpointSlice[],
  isLocal: (address: string) => boolean,
  isLedTo: (endpoint: string) => boolean = () => false,
): ClusterIpRoute[] {
  if (!service || service.metadata.deletionTimestamp !== undefined || service.spec.type === 'ExternalName') return []
  const { clusterIP = '', ports = [] } = service.spec
  if (!isLocal(clusterIP)) return []
  const affinityMs = affinityOf(service)
  return ports.flatMap((port) => {
    if (port.protocol !== 'TCP') return []
    const endpoints = readyEndpoints(port, slices)
    if (endpoints.length === 0 || endpoints.some(({ host }) => isLedTo(host))) return []
    return [{ address: clusterIP, port: port.port, endpoints, affinityMs }]
  })
}

const usualAffinitySeconds = 10_800

function affinityOf({ spec }: Service): number | undefined {
  if (spec.sessionAffinity !== 'ClientIP') return undefined
  return (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? usualAffinitySeconds) * 1000
}
