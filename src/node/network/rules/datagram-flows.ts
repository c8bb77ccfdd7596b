import { placeIn } from '../../../resources/address-range.ts'
import type { FamilyRanges } from '../choose-ranges.ts'
import type { HostPort } from '../host-ports.ts'
import type { ServiceRoute } from './service-plan.ts'

/**
 * A UDP flow in the kernel's connection table: a client, the address it sends to, and the endpoint that really answers.
 * The kernel remembers it while the client goes on sending.
 */
export interface DatagramFlow {
  readonly source: string
  readonly sourcePort: number
  readonly destination: string
  readonly destinationPort: number
  readonly endpoint: string
  readonly endpointPort: number
}

export interface DatagramPlan {
  readonly routes: readonly ServiceRoute[]
  readonly hostPorts: readonly HostPort[]
  /** One for each family. */
  readonly ranges: readonly FamilyRanges[]
}

/**
 * Parses lines such as `udp 17 29 src=10.1.0.2 dst=10.2.0.7 sport=4000 dport=53 src=10.1.0.3 dst=10.1.0.2 sport=53
 * dport=4000 mark=0`.
 */
export function readFlows(text: string): DatagramFlow[] {
  return text.split('\n').flatMap((line) => {
    const valuesOf = (name: string) =>
      [...line.matchAll(new RegExp(`\\b${name}=(\\S+)`, 'g'))].map(([, value]) => value)
    const [[source, endpoint], [destination]] = [valuesOf('src'), valuesOf('dst')]
    const [[sourcePort, endpointPort], [destinationPort]] = [valuesOf('sport'), valuesOf('dport')]
    if (!line.startsWith('udp') || source === undefined || destination === undefined || endpoint === undefined)
      return []
    const numbers = { sourcePort: Number(sourcePort), destinationPort: Number(destinationPort) }
    return [{ source, destination, endpoint, endpointPort: Number(endpointPort), ...numbers }]
  })
}

/**
 * The flows whose endpoint is no longer valid. Flows that do not concern this node's Services or ports are left alone.
 */
export function staleFlows(
  flows: readonly DatagramFlow[],
  { routes, hostPorts, ranges }: DatagramPlan,
): DatagramFlow[] {
  const services = new Set(
    routes
      .filter(({ protocol }) => protocol === 'udp')
      .flatMap(({ address, port, endpoints }) =>
        endpoints.map((one) => `${address} ${port} ${one.address} ${one.port}`),
      ),
  )
  const ports = new Set(
    hostPorts
      .filter(({ protocol }) => protocol === 'udp')
      .map(({ hostPort, address, port }) => `${hostPort} ${address} ${port}`),
  )
  return flows.filter(({ destination, destinationPort, endpoint, endpointPort }) => {
    const isService = ranges.some((each) => placeIn(each.services, destination) !== undefined)
    if (isService) return !services.has(`${destination} ${destinationPort} ${endpoint} ${endpointPort}`)
    if (!ranges.some((each) => placeIn(each.pods, endpoint) !== undefined)) return false
    return !ports.has(`${destinationPort} ${endpoint} ${endpointPort}`)
  })
}

/** The UDP part of a plan as text: while it is the same, no flow can become stale. */
export function datagramKey({ routes, hostPorts }: Pick<DatagramPlan, 'routes' | 'hostPorts'>): string {
  const isDatagram = ({ protocol }: { readonly protocol: string }) => protocol === 'udp'
  return JSON.stringify([routes.filter(isDatagram), hostPorts.filter(isDatagram)])
}
