import { createHash } from 'node:crypto'
import { addressAt, formatRange } from '../../resources/address-range.ts'
import type { ClusterRanges } from '../../node/network/choose-ranges.ts'

/** Where a cluster's Services are. */
export interface ServiceNetwork {
  readonly range: string
  /** Of IPv6, where Pods have it. */
  readonly ipv6Range?: string | undefined
  /** Of the Service `kubernetes`, by which Pods reach the API. */
  readonly apiServer: string
  /** Of the Service `kube-dns`, where the cluster has a DNS server. */
  readonly dns?: string | undefined
  /** Whether something can listen at these addresses, as on loopback. */
  readonly isLocal: boolean
}

/** Loopback addresses like those of Pods (127.64.0.0/10), beside them. */
const range = '127.128.0.0/9'

/**
 * The Services of an embedded cluster. Every cluster of a machine has the whole range: addresses are drawn from all
 * over it, so that two clusters hardly ever meet; the API server's follows from the cluster's id, for it is in a
 * certificate before anything runs.
 */
export function embeddedServiceNetwork(clusterId: string): ServiceNetwork {
  const [high = 0, middle = 0, low = 0] = createHash('sha256').update(clusterId).digest()
  // Neither the beginning of the range, which is for those who ask for an address, nor what looks like a network or its
  // broadcast.
  const apiServer = `127.${128 + (high % 127)}.${1 + (middle % 254)}.${1 + (low % 254)}`
  return { range, apiServer, isLocal: true }
}

/** The Services of a cluster whose Pods have networks of their own: every address of the range is the machine's. */
export function bridgedServiceNetwork({ services, ipv6 }: Pick<ClusterRanges, 'services' | 'ipv6'>): ServiceNetwork {
  const [apiServer, dns] = [addressAt(services, 1), addressAt(services, 10)]
  const ipv6Range = ipv6 && formatRange(ipv6.services)
  return { range: formatRange(services), ipv6Range, apiServer, dns, isLocal: true }
}

/** The one that Services get an address of unless they say otherwise comes first. */
export function rangesOf({ range, ipv6Range }: ServiceNetwork): readonly string[] {
  return ipv6Range === undefined ? [range] : [range, ipv6Range]
}

/** The names by which programs in a cluster call its API server. */
export const apiServerNames = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]
