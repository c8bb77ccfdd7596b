import { Buffer } from 'node:buffer'

/** ASN.1 in its distinguished encoding, as much of it as certificates are made of. */
const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  identifier: 0x06,
  text: 0x0c,
  shortTime: 0x17,
  longTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

export const sequence = (...parts: readonly Buffer[]) => encoded(tags.sequence, Buffer.concat(parts))
export const setOf = (part: Buffer) => encoded(tags.set, part)
export const octets = (content: Buffer) => encoded(tags.octets, content)
export const text = (content: string) => encoded(tags.text, Buffer.from(content, 'utf8'))
export const truth = encoded(tags.boolean, Buffer.from([0xff]))

/** Whole bytes, but for the last one, of which the lowest bits may be unused. */
export const bits = (content: Buffer, unused = 0) => encoded(tags.bits, Buffer.concat([Buffer.from([unused]), content]))

/** A value inside a tag that says what it is for: `explicit` keeps its own tag, `implicit` has this one in its place. */
export const explicit = (number: number, part: Buffer) => encoded(0xa0 | number, part)
export const implicit = (number: number, content: Buffer) => encoded(0x80 | number, content)

/** Of a number that is not negative, its bytes. */
export function integer(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const significant = first < 0 ? Buffer.from([0]) : bytes.subarray(first)
  const isNegative = (significant[0] ?? 0) >= 0x80
  return encoded(tags.integer, isNegative ? Buffer.concat([Buffer.from([0]), significant]) : significant)
}

/** `2.5.29.15` */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return encoded(tags.identifier, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** As RFC 5280 wants it: with two digits of the year until 2049. */
export function time(ms: number): Buffer {
  const written = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  const year = new Date(ms).getUTCFullYear()
  const isShort = year >= 1950 && year < 2050
  return encoded(isShort ? tags.shortTime : tags.longTime, Buffer.from(isShort ? written.slice(2) : written, 'latin1'))
}

/** The encoded parts of a sequence, and of those after it nothing. Throws where it is no such thing. */
export function partsOf(whole: Buffer): Buffer[] {
  const { header, length } = headOf(whole, 0)
  const parts: Buffer[] = []
  const end = header + length
  for (let at = header; at < end;) {
    const part = headOf(whole, at)
    const next = at + part.header + part.length
    if (next > end) throw new Error('a part is longer than what it is in')
    parts.push(whole.subarray(at, next))
    at = next
  }
  return parts
}

export function contentOf(part: Buffer): Buffer {
  const { header, length } = headOf(part, 0)
  return part.subarray(header, header + length)
}

function encoded(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(content.length)]), content])
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return [0x80 | bytes.length, ...bytes]
}

function base128(value: number): number[] {
  const bytes = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128))
  return bytes
}

function headOf(bytes: Buffer, at: number): { readonly header: number; readonly length: number } {
  const first = bytes[at + 1]
  if (first === undefined) throw new Error('it ends too early')
  if (first < 0x80) return { header: 2, length: first }
  const count = first & 0x7f
  if (count === 0 || count > 4 || at + 2 + count > bytes.length) throw new Error('its length cannot be read')
  return { header: 2 + count, length: bytes.readUIntBE(at + 2, count) }
}
