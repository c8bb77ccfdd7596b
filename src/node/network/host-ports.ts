import type { Pod } from '../../resources/pod.ts'
import { numberIn, textIn } from '../../resources/validation/json-access.ts'
import { type AddressFamily, parseAddress } from '../../resources/address-range.ts'

/** A port of the machine that is forwarded to a Pod. */
export interface HostPort {
  /** The machine's address; empty means all of them. */
  readonly hostIP: string
  readonly hostPort: number
  readonly protocol: 'tcp' | 'udp'
  readonly address: string
  readonly port: number
}

/** If two Pods ask for the same port, the older one gets it, whatever the order of the list. */
export function planHostPorts(pods: ReadonlyArray<{ readonly pod: Pod; readonly address: string }>): HostPort[] {
  const taken = new Map<string, HostPort>()
  const inOrder = pods.toSorted((one, other) => (ageOf(one.pod) < ageOf(other.pod) ? -1 : 1))
  for (const { pod, address } of inOrder) {
    for (const one of hostPortsOf(pod, address)) {
      const key = `${one.hostIP} ${one.protocol} ${one.hostPort}`
      if (!taken.has(key)) taken.set(key, one)
    }
  }
  return [...taken.values()]
}

/** The host ports a Pod asks for, forwarded to this address, from machine addresses of the same family. */
export function hostPortsOf({ spec }: Pod, address: string): HostPort[] {
  const family: AddressFamily = address.includes(':') ? 6 : 4
  return [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ ports = [] }) =>
    ports.flatMap((port): HostPort[] => {
      const hostPort = numberIn(port, 'hostPort') ?? 0
      const protocol = port.protocol === 'TCP' ? 'tcp' : port.protocol === 'UDP' ? 'udp' : undefined
      if (hostPort === 0 || protocol === undefined) return []
      const given = textIn(port, 'hostIP')
      if (given !== '' && parseAddress(given)?.family !== family) return []
      const hostIP = given === '0.0.0.0' || given === '::' ? '' : given
      return [{ hostIP, hostPort, protocol, address, port: port.containerPort }]
    }),
  )
}

function ageOf({ metadata }: Pod): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`
}
