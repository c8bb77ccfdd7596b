import {
  type AddressRange as Range,
  addressAt,
  formatRange,
  parseRange,
  placeIn,
  sizeOf,
} from '../../resources/address-range.ts'

export type FamilyName = 'IPv4' | 'IPv6'

/**
 * How large a range may be, as fixed bits. More than a million IPv6 addresses would only be searched in vain, as in
 * Kubernetes.
 */
const bitsOf = { 4: { least: 8, most: 28 }, 6: { least: 108, most: 124 } } as const

/** The addresses from which Services get theirs. */
export class AddressRange {
  readonly text: string
  readonly family: FamilyName
  readonly #range: Range
  readonly #size: number

  /** `127.128.0.0/9`, `fd00:0:0:2::/112` */
  constructor(text: string) {
    const range = text.includes('/') ? parseRange(text) : undefined
    if (!range || range.bits < bitsOf[range.family].least || range.bits > bitsOf[range.family].most) {
      throw new RangeError(`not a range of addresses for Services: ${text}`)
    }
    this.text = formatRange(range)
    this.family = `IPv${range.family}`
    this.#range = range
    this.#size = sizeOf(range)
  }

  /**
   * Whether a Service may have the address: not the first of a range, nor the last of an IPv4 range, which is the
   * broadcast address.
   */
  contains(address: string): boolean {
    const offset = placeIn(this.#range, address)
    return offset !== undefined && offset > 0 && !this.#isBroadcast(offset)
  }

  /**
   * A free address, searched from a random place (`start` in 0…1), so that two clusters on one machine seldom choose
   * the same. As in Kubernetes, the beginning of the range is left to Services that ask for a particular address.
   */
  pick(isTaken: (address: string) => boolean, start: number): string | undefined {
    const reserved = Math.min(Math.max(16, Math.floor(this.#size / 16)), 256, this.#size - 1)
    const upper = this.#size - reserved
    const begin = Math.floor(start * upper)
    for (let step = 0; step < upper; step++) {
      const address = this.#usual(reserved + ((begin + step) % upper))
      if (address !== undefined && !isTaken(address)) return address
    }
    for (let offset = 1; offset < reserved; offset++) {
      const address = this.#usual(offset)
      if (address !== undefined && !isTaken(address)) return address
    }
    return undefined
  }

  /** Skips addresses that look like a network or a broadcast address, which confuse people and some programs. */
  #usual(offset: number): string | undefined {
    const last = offset & 0xff
    const isOdd = this.family === 'IPv4' && (last === 0 || last === 255 || this.#isBroadcast(offset))
    return isOdd ? undefined : addressAt(this.#range, offset)
  }

  #isBroadcast(offset: number): boolean {
    return this.family === 'IPv4' && offset === this.#size - 1
  }
}
