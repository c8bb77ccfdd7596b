import type { AddressFamily } from '../../../resources/address-range.ts'

/** nft's vocabulary for one address family. */
export interface FamilyWords {
  readonly family: AddressFamily
  /** The protocol word in matches. */
  readonly match: 'ip' | 'ip6'
  /** The element type of sets. */
  readonly type: 'ipv4_addr' | 'ipv6_addr'
  /** The name of a set, distinct for each family. */
  readonly nameOf: (thing: string) => string
  /** Formats an address with a port. */
  readonly at: (address: string, port: number) => string
}

export const wordsFor: Readonly<Record<AddressFamily, FamilyWords>> = {
  4: {
    family: 4,
    match: 'ip',
    type: 'ipv4_addr',
    nameOf: (thing) => thing,
    at: (address, port) => `${address}:${port}`,
  },
  6: {
    family: 6,
    match: 'ip6',
    type: 'ipv6_addr',
    nameOf: (thing) => `${thing}_ipv6`,
    at: (address, port) => `[${address}]:${port}`,
  },
}
