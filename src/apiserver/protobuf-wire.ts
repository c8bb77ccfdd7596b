/** What a field of a message is. */
export type FieldType =
  /** Of a `count`, 0 means that nothing was said; of an `int` it is a value. */
  | { readonly type: 'string' | 'int' | 'count' | 'bool' | 'bytes' | 'time' | 'int-or-string' }
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'map'; readonly value: 'string' | 'bytes' }

export interface Field {
  readonly name: string
  readonly of: FieldType
  readonly repeated?: boolean
}

/** Field numbers → what they mean. */
export type Message = ReadonlyMap<number, Field>

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

const deepest = 32

/** Reads one message as the JSON it stands for. Unset fields are written out by Kubernetes; they mean "not there". */
export function readMessage(bytes: Buffer, message: Message, depth = 0): Record<string, unknown> {
  if (depth > deepest) throw new ProtobufError('nested too deeply')
  const result: Record<string, unknown> = {}
  for (const { number, value } of fieldsOf(bytes)) {
    const field = message.get(number)
    if (!field) continue
    if (field.of.type === 'map') {
      const entry = readEntry(bytesOf(value), field.of.value)
      const map = result[field.name]
      // Without a prototype, so that no key is special.
      const target: Record<string, unknown> = isRecord(map) ? map : Object.create(null)
      target[entry.key] = entry.value
      result[field.name] = target
      continue
    }
    const read = readValue(field.of, value, depth)
    if (field.repeated) result[field.name] = [...listIn(result[field.name]), read]
    else if (read !== undefined) result[field.name] = read
  }
  return result
}

type WireValue = bigint | Buffer

function readValue(of: Exclude<FieldType, { type: 'map' }>, value: WireValue, depth: number): unknown {
  switch (of.type) {
    case 'string':
      return textOf(bytesOf(value)) || undefined
    case 'bytes':
      return bytesOf(value).toString('base64')
    case 'int':
      return numberOf(value)
    case 'count':
      return numberOf(value) || undefined
    case 'bool':
      return numberOf(value) !== 0 || undefined
    case 'message':
      return readMessage(bytesOf(value), of.message, depth + 1)
    case 'time':
      return readTime(bytesOf(value))
    default:
      return readIntOrString(bytesOf(value))
  }
}

function readTime(bytes: Buffer): string | undefined {
  const seconds = [...fieldsOf(bytes)].find(({ number }) => number === 1)
  if (!seconds) return undefined
  const at = new Date(numberOf(seconds.value) * 1000)
  if (Number.isNaN(at.getTime())) throw new ProtobufError('a time that is none')
  return at.toISOString().replace(/\.\d{3}Z$/, 'Z')
}

function readIntOrString(bytes: Buffer): string | number {
  let isText = false
  let whole = 0
  let text = ''
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) isText = numberOf(value) === 1
    else if (number === 2) whole = numberOf(value)
    else if (number === 3) text = textOf(bytesOf(value))
  }
  return isText ? text : whole
}

function readEntry(bytes: Buffer, valueType: 'string' | 'bytes'): { key: string; value: string } {
  let key = ''
  let value = ''
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) key = textOf(bytesOf(field.value))
    else if (field.number === 2) {
      const raw = bytesOf(field.value)
      value = valueType === 'bytes' ? raw.toString('base64') : textOf(raw)
    }
  }
  return { key, value }
}

function* fieldsOf(bytes: Buffer): Generator<{ number: number; value: WireValue }> {
  let at = 0
  const varint = (): bigint => {
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

function bytesOf(value: WireValue): Buffer {
  if (typeof value === 'bigint') throw new ProtobufError('a number in place of bytes')
  return value
}

function numberOf(value: WireValue): number {
  const number = typeof value === 'bigint' ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new ProtobufError('a number out of range')
  return number
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new ProtobufError('text that is not UTF-8', { cause: error })
  }
}

function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
