import { isUtf8 } from 'node:buffer'

/** The wire format of protobuf: fields by number, each a number or bytes. */
export type WireValue = bigint | Buffer

export interface WireField {
  readonly number: number
  readonly value: WireValue
}

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

export function* fieldsOf(bytes: Buffer): Generator<WireField> {
  let at = 0
  const varint = (): bigint => {
    const first = bytes[at]
    // Almost all numbers are this small, and bigints are expensive.
    if (first !== undefined && first < 0x80) {
      at += 1
      return BigInt(first)
    }
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw new ProtobufError('cut off')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, value)
    }
    throw new ProtobufError('a number that does not end')
  }
  const take = (size: number): Buffer => {
    if (size < 0 || at + size > bytes.length) throw new ProtobufError('cut off')
    at += size
    return bytes.subarray(at - size, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const number = tag >>> 3
    switch (tag & 7) {
      case 0:
        yield { number, value: varint() }
        break
      case 1:
        yield { number, value: take(8) }
        break
      case 2:
        yield { number, value: take(numberOf(varint())) }
        break
      case 5:
        yield { number, value: take(4) }
        break
      default:
        throw new ProtobufError('an unknown wire type')
    }
  }
}

export function bytesOf(value: WireValue): Buffer {
  if (typeof value === 'bigint') throw new ProtobufError('a number in place of bytes')
  return value
}

export function numberOf(value: WireValue): number {
  const number = typeof value === 'bigint' ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new ProtobufError('a number out of range')
  return number
}

export function doubleOf(value: WireValue): number {
  const bytes = bytesOf(value)
  if (bytes.length !== 8) throw new ProtobufError('a number of the wrong size')
  return bytes.readDoubleLE(0)
}

export function textOf(value: WireValue): string {
  const bytes = bytesOf(value)
  if (!isUtf8(bytes)) throw new ProtobufError('text that is not UTF-8')
  return bytes.toString('utf8')
}
