/** A block of IPv4 addresses, by its first one and how many bits of it are fixed. */
export interface AddressRange {
  readonly first: number
  readonly bits: number
}

/** `10.1.2.0/24`, or a single address; `undefined` for anything else. */
export function parseRange(text: string): AddressRange | undefined {
  const [, address = '', bitsText = '32'] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(text) ?? []
  const first = parseAddress(address)
  const bits = Number(bitsText)
  if (first === undefined || bits > 32) return undefined
  return { first: (first & maskOf(bits)) >>> 0, bits }
}

export function parseAddress(text: string): number | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || parts.some((part) => !/^\d{1,3}$/.test(part) || Number(part) > 255)) return undefined
  return parts.reduce((value, part) => value * 256 + Number(part), 0)
}

export function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
}

export function formatRange({ first, bits }: AddressRange): string {
  return `${formatAddress(first)}/${bits}`
}

export function sizeOf({ bits }: AddressRange): number {
  return 2 ** (32 - bits)
}

export function overlap(one: AddressRange, other: AddressRange): boolean {
  const mask = maskOf(Math.min(one.bits, other.bits))
  return (one.first & mask) === (other.first & mask)
}

/** Which address of the range it is, counted from its first; `undefined` for one outside of it. */
export function placeIn(range: AddressRange, address: string): number | undefined {
  const value = parseAddress(address)
  if (value === undefined) return undefined
  const offset = value - range.first
  return offset >= 0 && offset < sizeOf(range) ? offset : undefined
}

function maskOf(bits: number): number {
  return bits === 0 ? 0 : (-1 << (32 - bits)) >>> 0
}
