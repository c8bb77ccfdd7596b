import { createHash } from 'node:crypto'
import { type AddressRange, overlap } from '../../resources/address-range.ts'

/** The address ranges of Pods and Services in one address family. */
export interface FamilyRanges {
  readonly pods: AddressRange
  readonly services: AddressRange
}

/** The addresses of one cluster on this machine. */
export interface ClusterRanges extends FamilyRanges {
  /** The IPv6 ranges, if Pods have both families. A Pod has the same offset in both. */
  readonly ipv6?: FamilyRanges | undefined
}

/**
 * Where to look for free ranges, in this order: the private addresses that home and office networks use least, and if
 * those are all taken, the ones reserved for benchmarks.
 */
const places = [
  { first: (10n << 24n) | (64n << 16n), bits: 10 },
  { first: (172n << 24n) | (16n << 16n), bits: 12 },
  { first: (198n << 24n) | (18n << 16n), bits: 15 },
]
/** Of a cluster's block: the first half is the Pods', the second the Services'. */
export const blockBits = 19

/**
 * Chooses a block that the machine has no route to; the first half is for Pods, the second for Services. `seed` says
 * where to begin, so that two clusters starting at the same time rarely choose the same block.
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
 * Chooses a site of the private IPv6 addresses (RFC 4193). Its number is random, as the RFC asks, so the machine hardly
 * ever has a route to it.
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

/** Kubernetes' largest size for the Services' range; the Pods' range is as large. */
function networkOf(site: bigint, number: bigint): AddressRange {
  return { family: 6, first: site | (number << 64n), bits: 112 }
}
