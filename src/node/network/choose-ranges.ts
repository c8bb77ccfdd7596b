import { type AddressRange, overlap } from './address-range.ts'

/** The addresses of one cluster on this machine. */
export interface ClusterRanges {
  readonly pods: AddressRange
  readonly services: AddressRange
}

/**
 * Where to look, in order: of the private addresses those that home networks and offices use least, and where a company has all of
 * them, those that are set apart for measurements.
 */
const places = [
  { first: ((10 << 24) | (64 << 16)) >>> 0, bits: 10 },
  { first: ((172 << 24) | (16 << 16)) >>> 0, bits: 12 },
  { first: ((198 << 24) | (18 << 16)) >>> 0, bits: 15 },
]
const blockBits = 19

/**
 * A block that the machine has no route to, the first half for Pods and the second for Services. `seed` is where to begin to look, so
 * that two clusters that look at the same time hardly ever choose the same.
 */
export function chooseRanges(seed: number, routes: readonly AddressRange[]): ClusterRanges | undefined {
  for (const place of places) {
    const count = 2 ** (blockBits - place.bits)
    for (let tried = 0; tried < count; tried += 1) {
      const first = place.first + ((seed + tried) % count) * 2 ** (32 - blockBits)
      const block = { first, bits: blockBits }
      if (!routes.some((route) => overlap(route, block))) return rangesOf(first)
    }
  }
  return undefined
}

function rangesOf(first: number): ClusterRanges {
  const bits = blockBits + 1
  return { pods: { first, bits }, services: { first: first + 2 ** (32 - bits), bits } }
}
