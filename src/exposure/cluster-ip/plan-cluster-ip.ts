import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import type { Service } from '../../resources/service.ts'
import { readyEndpoints, type RouteEndpoint } from '../routes/service-endpoints.ts'

/** One port of a Service at its cluster address, and the endpoints that connections go to. */
export interface ClusterIpRoute {
  readonly address: string
  readonly port: number
  readonly endpoints: readonly RouteEndpoint[]
  /** How long a client stays with its endpoint (session affinity); `undefined` if it does not. */
  readonly affinityMs: number | undefined
}

/**
 * Plans what to listen on for a Service: its TCP ports with a ready endpoint. Without one, connections are refused, as
 * kube-proxy does. Ports that the kernel forwards itself need no listener.
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
