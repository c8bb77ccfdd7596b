import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { formatRange, parseRange } from '../../resources/address-range.ts'
import { blockBits, siteBits } from './choose-ranges.ts'
import { NetworkNames } from './network-names.ts'

/**
 * What no Service leads to unless a Pod of its own namespace has the address: every address of the machine, and the
 * blocks of all clusters on it, Pods and Services, those of other programs too.
 */
export function closedAddresses(interfaces: Interfaces = networkInterfaces()): readonly string[] {
  return Object.entries(interfaces).flatMap(([name, found]) =>
    (found ?? []).map(({ address, cidr }) => (NetworkNames.isOurs(name) && cidr ? blockOf(cidr) : address)),
  )
}

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>

/** A bridge has its cluster's Pods; the Services are in the same block beside them. */
function blockOf(cidr: string): string {
  const [address = ''] = cidr.split('/')
  const block = parseRange(`${address}/${address.includes(':') ? siteBits : blockBits}`)
  return block ? formatRange(block) : address
}
