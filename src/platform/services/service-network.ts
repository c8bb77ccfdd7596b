import { createHash } from 'node:crypto'
import { addressAt, formatRange } from '../../resources/address-range.ts'
import type { ClusterRanges } from '../../node/network/choose-ranges.ts'

/** The addresses of a cluster's Services. */
export interface ServiceNetwork {
  readonly range: string
  /** The IPv6 range, if Pods have IPv6. */
  readonly ipv6Range?: string | undefined
  /** The address of the Service `kubernetes`, at which Pods reach the API. */
  readonly apiServer: string
  /** The address of the Service `kube-dns`, if the cluster has a DNS server. */
  readonly dns?: string | undefined
  /** Whether this machine can listen at these addresses, as on loopback. */
  readonly isLocal: boolean
}

/** Loopback addresses, next to those of Pods (127.64.0.0/10). */
const range = '127.128.0.0/9'

/**
 * The Service addresses of an embedded cluster. All clusters of a machine share the range: addresses are picked at
 * random, so that they hardly ever collide. The API server's address follows from the cluster ID, since a certificate
 * needs it before anything runs.
 */
export function embeddedServiceNetwork(clusterId: string): ServiceNetwork {
  const [high = 0, middle = 0, low = 0] = createHash('sha256').update(clusterId).digest()
  // Avoids the beginning of the range, which is kept for Services that ask for a certain address, and addresses that
  // look like those of networks or broadcasts.
  const apiServer = `127.${128 + (high % 127)}.${1 + (middle % 254)}.${1 + (low % 254)}`
  return { range, apiServer, isLocal: true }
}

/** The Service addresses of a cluster whose Pods have their own networks. All of them belong to this machine. */
export function bridgedServiceNetwork({ services, ipv6 }: Pick<ClusterRanges, 'services' | 'ipv6'>): ServiceNetwork {
  const [apiServer, dns] = [addressAt(services, 1), addressAt(services, 10)]
  const ipv6Range = ipv6 && formatRange(ipv6.services)
  return { range: formatRange(services), ipv6Range, apiServer, dns, isLocal: true }
}

/** The range that Services get an address from by default comes first. */
export function rangesOf({ range, ipv6Range }: ServiceNetwork): readonly string[] {
  return ipv6Range === undefined ? [range] : [range, ipv6Range]
}

/** The names by which programs in a cluster reach its API server. */
export const apiServerNames = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]
