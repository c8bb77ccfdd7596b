import type { AddressFamily } from '../../../resources/address-range.ts'

/** How rules of nft speak of one family's addresses. */
export interface FamilyWords {
  readonly family: AddressFamily
  /** What a packet is looked at as. */
  readonly match: 'ip' | 'ip6'
  /** What sets hold. */
  readonly type: 'ipv4_addr' | 'ipv6_addr'
  /** What one family's set is called, where the other has the like. */
  readonly nameOf: (thing: string) => string
  /** An address with a port. */
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
