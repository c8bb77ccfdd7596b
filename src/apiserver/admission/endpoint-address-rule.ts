import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { formatAddress, parseAddress } from '../../resources/address-range.ts'
import { faultsOfEach, invalid } from '../../resources/field-error.ts'
import type { AdmissionRule } from './admission.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'

interface RefusedRange {
  readonly addresses: BlockList
  why(address: string): string
}

/** Kubernetes' ranges, in its order and words; the last one only matters because this machine does the connecting. */
const refused: readonly RefusedRange[] = [
  range(['0.0.0.0/32', '::/128'], (address) => `may not be unspecified (${address})`),
  range(['127.0.0.0/8', '::1/128'], () => 'may not be in the loopback range (127.0.0.0/8, ::1/128)'),
  range(['169.254.0.0/16', 'fe80::/10'], () => 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'),
  range(['224.0.0.0/24', 'ff02::/16'], () => 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'),
  range(['224.0.0.0/4', 'ff00::/8'], () => 'may not be in the multicast range (224.0.0.0/4, ff00::/8)'),
  range(['0.0.0.0/8', '240.0.0.0/4'], () => 'may not be an address that no other machine can have'),
]

/**
 * Restricts where the endpoints of Services may lead. This machine itself connects to the addresses in an
 * EndpointSlice, so nobody may use one to reach what listens only locally. The cluster's own controllers, whose Pods
 * may have such addresses, are exempt, and addresses that a slice already has may stay.
 */
export function endpointAddresses(ownAddresses: () => ReadonlySet<string> = machineAddresses): AdmissionRule {
  return ({ operation, kind, object, previous, user }) => {
    const find = finders[`${kind.group}/${kind.kind}`]
    if (!find || operation === 'delete' || user === undefined) return []
    const kept = new Set(previous ? find(previous).map(({ address }) => address) : [])
    const own = ownAddresses()
    return faultsOfEach(find(object), ({ field, address }) => {
      const why = kept.has(address) ? undefined : refusalOf(address, own)
      return why === undefined ? [] : [invalid(field, address, why)]
    })
  }
}

interface FoundAddress {
  readonly field: string
  readonly address: string
}

/** Where each kind holds addresses. Endpoints count too, because slices are made from them. */
const finders: Readonly<Record<string, (object: JsonObject) => FoundAddress[]>> = {
  'discovery.k8s.io/EndpointSlice': (slice) =>
    listAt(slice, 'endpoints').flatMap((endpoint, index) =>
      listAt(endpoint, 'addresses').flatMap((address, at) => found(`endpoints[${index}].addresses[${at}]`, address)),
    ),
  '/Endpoints': (endpoints) =>
    listAt(endpoints, 'subsets').flatMap((subset, index) =>
      ['addresses', 'notReadyAddresses'].flatMap((list) =>
        listAt(subset, list).flatMap((address, at) =>
          found(`subsets[${index}].${list}[${at}].ip`, isJsonObject(address) ? address['ip'] : undefined),
        ),
      ),
    ),
}

function listAt(value: unknown, field: string): readonly unknown[] {
  const list = isJsonObject(value) ? value[field] : undefined
  return Array.isArray(list) ? list : []
}

function found(field: string, address: unknown): FoundAddress[] {
  return typeof address === 'string' ? [{ field, address }] : []
}

function refusalOf(address: string, own: ReadonlySet<string>): string | undefined {
  const version = isIP(address)
  if (version === 0) return undefined
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const found = refused.find(({ addresses }) => addresses.check(address, family))
  if (found) return found.why(address)
  return own.has(asMachinesAre(address)) ? 'may not be an address of the machine that the cluster runs on' : undefined
}

/** The address in one canonical form: the same one can be written in many ways, and IPv4 as IPv6. */
function asMachinesAre(text: string): string {
  const address = parseAddress(text)
  if (!address) return text
  const isDisguised = address.family === 6 && address.value >> 32n === 0xffffn
  return formatAddress(isDisguised ? { family: 4, value: address.value & 0xffff_ffffn } : address)
}

/** Read each time, because a machine gains and loses addresses. */
function machineAddresses(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)))
}

function range(subnets: readonly string[], why: (address: string) => string): RefusedRange {
  const addresses = new BlockList()
  for (const subnet of subnets) {
    const [network = '', bits] = subnet.split('/')
    addresses.addSubnet(network, Number(bits), isIP(network) === 4 ? 'ipv4' : 'ipv6')
  }
  return { addresses, why }
}
