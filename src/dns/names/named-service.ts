import { type EndpointSlice, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import type { Service } from '../../resources/service.ts'
import { addressBytes, addressKey } from '../messages/ip-address.ts'

/** What names are made of for one port; without declared ports there is one without a number. */
export interface NamedPort {
  readonly name: string
  readonly protocol: string
  readonly port: number | undefined
}

/** What DNS needs to know about a Service. */
export interface NamedService {
  readonly namespace: string
  readonly name: string
  readonly headless: boolean
  /** Only for Services of that type. */
  readonly externalName: string | undefined
  readonly publishNotReady: boolean
  readonly addresses: readonly Buffer[]
  readonly ports: readonly NamedPort[]
}

/** One address of an endpoint. */
export interface NamedEndpoint {
  readonly namespace: string
  readonly service: string
  /** The first label of its name: its hostname, or else its address with dashes. */
  readonly label: string
  readonly address: Buffer
  readonly ready: boolean
  readonly ports: readonly NamedPort[]
}

export function namedService({ metadata, spec }: Service): NamedService {
  const given = spec.clusterIPs && spec.clusterIPs.length > 0 ? spec.clusterIPs : [spec.clusterIP ?? '']
  const external = spec.type === 'ExternalName'
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    headless: !external && given[0] === 'None',
    externalName: external ? (spec.externalName ?? '') : undefined,
    publishNotReady: spec['publishNotReadyAddresses'] === true,
    addresses: external ? [] : given.flatMap((address) => addressBytes(address) ?? []),
    ports: portsOf(spec.ports),
  }
}

/** `undefined` for a slice that belongs to no Service. */
export function namedEndpoints(slice: EndpointSlice): readonly NamedEndpoint[] | undefined {
  const { namespace = '', labels } = slice.metadata
  const service = labels?.[serviceNameLabel]
  if (service === undefined || slice.addressType === 'FQDN') return undefined
  const ports = portsOf(slice.ports)
  return slice.endpoints.flatMap(({ addresses, conditions, ...endpoint }) => {
    const { hostname } = endpoint
    const label = typeof hostname === 'string' && hostname !== '' ? hostname : undefined
    // In Kubernetes, an unset `ready` means ready.
    const ready = conditions?.ready !== false
    return addresses.flatMap((text) => {
      const address = addressBytes(text)
      return address ? [{ namespace, service, label: label ?? dashed(text), address, ready, ports }] : []
    })
  })
}

/** `10-0-0-7`, or `fd00--1` for IPv6; a label must not end with a dash. */
function dashed(address: string): string {
  const label = address.replace(/[.:]/g, '-')
  return label.endsWith('-') ? `${label}0` : label
}

/** The key of the address that a label such as `10-0-0-7` stands for. */
export function dashedAddressKey(label: string): string | undefined {
  const separator = /^\d+-\d+-\d+-\d+$/.test(label) ? '.' : ':'
  const bytes = addressBytes(label.replaceAll('-', separator))
  return bytes && addressKey(bytes)
}

interface DeclaredPort {
  readonly name?: string | undefined
  readonly port?: number | undefined
  readonly protocol: string
}

function portsOf(ports: readonly DeclaredPort[] | undefined): readonly NamedPort[] {
  if (!ports || ports.length === 0) return [{ name: '', protocol: '', port: undefined }]
  return ports.map(({ name = '', port, protocol }) => ({ name, port, protocol }))
}
