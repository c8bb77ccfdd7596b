import { createHash } from 'node:crypto'
import { type AddressRange, overlap } from '../../resources/address-range.ts'

/** Where Pods and Services have their addresses of one family. */
export interface FamilyRanges {
  readonly pods: AddressRange
  readonly services: AddressRange
}

/** The addresses of one cluster on this machine. */
export interface ClusterRanges extends FamilyRanges {
  /** Where Pods have an address of each family. A Pod has the same place in both. */
  readonly ipv6?: FamilyRanges | undefined
}

/**
 * Where to look, in order: of the private addresses those that home networks and offices use least, and where a company
 * has all of them, those that are set apart for measurements.
 */
const places = [
  { first: (10n << 24n) | (64n << 16n), bits: 10 },
  { first: (172n << 24n) | (16n << 16n), bits: 12 },
  { first: (198n << 24n) | (18n << 16n), bits: 15 },
]
/** Of a cluster's block: the first half is the Pods', the second the Services'. */
export const blockBits = 19

/**
 * A block that the machine has no route to, the first half for Pods and the second for Services. `seed` is where to
 * begin to look, so that two clusters that look at the same time hardly ever choose the same.
 */
export function chooseRanges(seed: number, routes: readonly AddressRange[]): FamilyRanges | undefined {
  for (const place of places) {
    const count = 2 ** (blockBits - place.bits)
    for (let tried = 0; tried < count; tried += 1) {
      const first = place.first + BigInt((seed + tried) % count) * (1n << BigInt(32 - blockBits))
      const block = { family: 4 as const, first, bits: blockBits }
      if (!routes.some((route) => overlap(route, block))) return halvesOf(first)
    }
  }
  return undefined
}

function halvesOf(first: bigint): FamilyRanges {
  const bits = blockBits + 1
  const services = first + (1n << BigInt(32 - bits))
  return { pods: { family: 4, first, bits }, services: { family: 4, first: services, bits } }
}

export const siteBits = 48
const mostSites = 16

/**
 * Of the addresses that everybody may use within a site (RFC 4193), a site of the cluster's own: its number is drawn,
 * as that asks for, and so it is hardly ever one that the machine has a route to.
 */
export function chooseIpv6Ranges(nodeId: string, routes: readonly AddressRange[]): FamilyRanges | undefined {
  for (let tried = 0; tried < mostSites; tried += 1) {
    const number = createHash('sha256').update(`${nodeId} ${tried}`).digest('hex').slice(0, 10)
    const first = BigInt(`0xfd${number}`) << BigInt(128 - siteBits)
    const site = { family: 6 as const, first, bits: siteBits }
    if (!routes.some((route) => overlap(route, site)))
      return { pods: networkOf(first, 1n), services: networkOf(first, 2n) }
  }
  return undefined
}

/** As large as the network of Services may be in Kubernetes, where it is that of the Pods, too. */
function networkOf(site: bigint, number: bigint): AddressRange {
  return { family: 6, first: site | (number << 64n), bits: 112 }
}
