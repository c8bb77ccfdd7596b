import { isIPv6 } from 'node:net'

export type AddressFamily = 4 | 6

/** An address as a number of its family. */
export interface Address {
  readonly family: AddressFamily
  readonly value: bigint
}

/** A block of addresses, given by its first one and the number of fixed bits. */
export interface AddressRange {
  readonly family: AddressFamily
  readonly first: bigint
  readonly bits: number
}

const widths = { 4: 32, 6: 128 } as const

/** `10.1.2.0/24`, `fd00::/64` or a single address; `undefined` for anything else. */
export function parseRange(text: string): AddressRange | undefined {
  const [, written = '', bitsText] = /^([\d.a-fA-F:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = parseAddress(written)
  if (!address) return undefined
  const width = widths[address.family]
  const bits = bitsText === undefined ? width : Number(bitsText)
  if (bits > width) return undefined
  const free = BigInt(width - bits)
  return { family: address.family, first: (address.value >> free) << free, bits }
}

export function parseAddress(text: string): Address | undefined {
  const isSix = text.includes(':')
  const value = isSix ? parseSix(text) : parseFour(text)
  return value === undefined ? undefined : { family: isSix ? 6 : 4, value }
}

/** In canonical form: IPv6 in lower case, without leading zeros, and with `::` for the longest run of zeros. */
export function formatAddress({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.')
  const groups = Array.from({ length: 8 }, (_, index) => (value >> BigInt(16 * (7 - index))) & 0xffffn)
  const words = groups.map((group) => group.toString(16))
  const zeros = longestZeros(groups)
  if (zeros.length < 2) return words.join(':')
  return `${words.slice(0, zeros.start).join(':')}::${words.slice(zeros.start + zeros.length).join(':')}`
}

/** The address in canonical form; `undefined` if the text is not an address. */
export function plainAddress(text: string): string | undefined {
  const address = parseAddress(text)
  return address && formatAddress(address)
}

export function formatRange({ family, first, bits }: AddressRange): string {
  return `${formatAddress({ family, value: first })}/${bits}`
}

export function sizeOf({ family, bits }: AddressRange): number {
  return 2 ** (widths[family] - bits)
}

export function lastOf({ family, first, bits }: AddressRange): bigint {
  return first + (1n << BigInt(widths[family] - bits)) - 1n
}

export function overlap(one: AddressRange, other: AddressRange): boolean {
  return one.family === other.family && one.first <= lastOf(other) && other.first <= lastOf(one)
}

/** The position of the address in the range, counted from its first; `undefined` for one outside of it. */
export function placeIn(range: AddressRange, text: string): number | undefined {
  const address = parseAddress(text)
  if (address?.family !== range.family) return undefined
  const isInside = address.value >= range.first && address.value <= lastOf(range)
  return isInside ? Number(address.value - range.first) : undefined
}

/** The address at a position of the range. */
export function addressAt({ family, first }: AddressRange, place: number): string {
  return formatAddress({ family, value: first + BigInt(place) })
}

function parseFour(text: string): bigint | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || parts.some((part) => !/^\d{1,3}$/.test(part) || Number(part) > 255)) return undefined
  return BigInt(parts.reduce((value, part) => value * 256 + Number(part), 0))
}

function parseSix(text: string): bigint | undefined {
  if (!isIPv6(text) || text.includes('%')) return undefined
  const [before = '', after] = withoutDots(text).split('::')
  const [head, tail] = [groupsOf(before), groupsOf(after ?? '')]
  const gap = after === undefined ? [] : Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...gap, ...tail].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n)
}

/** The last 32 bits may be written in IPv4 notation. */
function withoutDots(text: string): string {
  const [, before, dotted] = /^(.*:)(\d+\.[\d.]+)$/.exec(text) ?? []
  const value = dotted === undefined ? undefined : parseFour(dotted)
  if (before === undefined || value === undefined) return text
  return `${before}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

function longestZeros(groups: readonly bigint[]): { readonly start: number; readonly length: number } {
  let longest = { start: 0, length: 0 }
  let length = 0
  for (const [index, group] of groups.entries()) {
    length = group === 0n ? length + 1 : 0
    if (length > longest.length) longest = { start: index - length + 1, length }
  }
  return longest
}
