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
 * How many bits of a range may be fixed: more than a million addresses of IPv6 would be looked
 * through in vain, as in Kubernetes.
 */
const bitsOf = { 4: { least: 8, most: 28 }, 6: { least: 108, most: 124 } } as const

/** Addresses out of which Services get theirs. */
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

  /** Whether a Service may have it: the first of a range is nobody's, and the last of IPv4 is a broadcast. */
  contains(address: string): boolean {
    const offset = placeIn(this.#range, address)
    return offset !== undefined && offset > 0 && !this.#isBroadcast(offset)
  }

  /**
   * A free address, looked for from anywhere (`start` in 0…1): two clusters on one machine hardly ever choose the same.
   * The beginning of the range is left to those who ask for an address by name, as Kubernetes does.
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

  /** Those that look like a network or its broadcast confuse people and some programs. */
  #usual(offset: number): string | undefined {
    const last = offset & 0xff
    const isOdd = this.family === 'IPv4' && (last === 0 || last === 255 || this.#isBroadcast(offset))
    return isOdd ? undefined : addressAt(this.#range, offset)
  }

  #isBroadcast(offset: number): boolean {
    return this.family === 'IPv4' && offset === this.#size - 1
  }
}
