import { type FileHandle, open } from 'node:fs/promises'
import { SluiceError } from '../../foundation/errors.ts'

/** What a model file says about itself. Of lists only the length is kept, unless they are short lists of numbers. */
export interface GgufHeader {
  text(key: string): string | undefined
  number(key: string): number | undefined
  numbers(key: string): readonly number[] | undefined
  /** How many entries a list has. */
  count(key: string): number | undefined
  /** `general.architecture`, which begins the names of the keys about the model's shape. */
  readonly architecture: string
}

type Value = string | number | boolean | List
interface List {
  readonly count: number
  /** Undefined for a long list, and for one that is not of numbers. */
  readonly numbers: readonly number[] | undefined
}

const magic = 0x46554747
const readBytes = 4 * 1024 * 1024
/** No vocabulary is larger than this with all its texts; the lengths in the file are not trusted further. */
const longestHeader = 256 * 1024 * 1024
const mostKeys = 65_536
const longestList = 2_048
const textType = 8
const listType = 9
/** By the number of a type in the file. */
const sizes: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 }

/**
 * Reads the keys at the beginning of a GGUF file. Most of those bytes are the texts of the vocabulary, which llama.cpp
 * reads for itself: here they are only stepped over.
 */
export async function readGgufHeader(file: string): Promise<GgufHeader> {
  const handle = await open(file)
  try {
    const reader = new Reader(handle, file)
    if ((await reader.number(4)) !== magic) throw malformed(file, 'it does not begin with GGUF')
    const version = await reader.number(4)
    if (version < 2 || version > 3) throw malformed(file, `it has version ${version}; 2 and 3 can be read`)
    await reader.number(8)
    const keys = await reader.number(8)
    if (keys > mostKeys) throw malformed(file, `it announces ${keys} keys`)
    const values = new Map<string, Value>()
    for (let read = 0; read < keys; read++)
      values.set(await reader.string(), await reader.value(await reader.number(4)))
    return headerOf(values)
  } finally {
    await handle.close()
  }
}

function headerOf(values: ReadonlyMap<string, Value>): GgufHeader {
  const list = (key: string) => {
    const value = values.get(key)
    return typeof value === 'object' ? value : undefined
  }
  const text = (key: string) => {
    const value = values.get(key)
    return typeof value === 'string' ? value : undefined
  }
  return {
    text,
    number: (key) => {
      const value = values.get(key)
      return typeof value === 'number' ? value : undefined
    },
    numbers: (key) => list(key)?.numbers,
    count: (key) => list(key)?.count,
    architecture: text('general.architecture') ?? '',
  }
}

/** Reads a file from its beginning, a large piece at a time. */
class Reader {
  readonly #handle: FileHandle
  readonly #file: string
  #bytes: Buffer<ArrayBuffer> = Buffer.alloc(0)
  /** In `#bytes`. */
  #at = 0
  /** Of the file, how much was read. */
  #read = 0

  constructor(handle: FileHandle, file: string) {
    this.#handle = handle
    this.#file = file
  }

  async number(size: number): Promise<number> {
    await this.#have(size)
    const at = this.#step(size)
    return size === 8 ? readLength(this.#bytes, at) : this.#bytes.readUIntLE(at, size)
  }

  async string(): Promise<string> {
    const length = await this.number(8)
    await this.#have(length)
    const at = this.#step(length)
    return this.#bytes.toString('utf8', at, at + length)
  }

  async value(type: number): Promise<Value> {
    if (type === textType) return this.string()
    if (type === listType) return this.#list()
    const size = this.#sizeOf(type)
    await this.#have(size)
    return this.#scalar(type, this.#step(size))
  }

  async #list(): Promise<List> {
    const type = await this.number(4)
    const count = await this.number(8)
    if (type === textType) await this.#skipTexts(count)
    else if (type === listType) for (let entry = 0; entry < count; entry++) await this.#list()
    else return this.#numbers(type, count)
    return { count, numbers: undefined }
  }

  async #numbers(type: number, count: number): Promise<List> {
    const size = this.#sizeOf(type)
    await this.#have(size * count)
    const start = this.#step(size * count)
    if (count > longestList) return { count, numbers: undefined }
    return {
      count,
      numbers: Array.from({ length: count }, (_, index) => Number(this.#scalar(type, start + index * size))),
    }
  }

  /** There are a hundred thousand of them, so those that are read already are stepped over in one go. */
  async #skipTexts(count: number): Promise<void> {
    for (let left = count - this.#skipReadTexts(count); left > 0; left -= this.#skipReadTexts(left)) {
      await this.#have(8)
      await this.#have(8 + readLength(this.#bytes, this.#at))
    }
  }

  #skipReadTexts(most: number): number {
    const { buffer, byteOffset, length } = this.#bytes
    const view = new DataView(buffer, byteOffset, length)
    let at = this.#at
    let skipped = 0
    while (skipped < most && at + 8 <= length) {
      const next = at + 8 + view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true)
      if (next > length) break
      at = next
      skipped++
    }
    this.#at = at
    return skipped
  }

  #scalar(type: number, at: number): number | boolean {
    const bytes = this.#bytes
    switch (type) {
      case 0:
        return bytes.readUInt8(at)
      case 1:
        return bytes.readInt8(at)
      case 2:
        return bytes.readUInt16LE(at)
      case 3:
        return bytes.readInt16LE(at)
      case 4:
        return bytes.readUInt32LE(at)
      case 5:
        return bytes.readInt32LE(at)
      case 6:
        return bytes.readFloatLE(at)
      case 7:
        return bytes.readUInt8(at) !== 0
      case 10:
        return Number(bytes.readBigUInt64LE(at))
      case 11:
        return Number(bytes.readBigInt64LE(at))
      default:
        return bytes.readDoubleLE(at)
    }
  }

  #sizeOf(type: number): number {
    const size = sizes[type]
    if (size === undefined) throw malformed(this.#file, `it has a value of the unknown type ${type}`)
    return size
  }

  #step(length: number): number {
    const at = this.#at
    this.#at += length
    return at
  }

  /** Makes the next bytes available; what was stepped over is dropped. */
  async #have(length: number): Promise<void> {
    if (this.#at + length <= this.#bytes.length) return
    const rest = this.#bytes.subarray(this.#at)
    const wanted = Math.max(readBytes, length - rest.length)
    if (length < 0 || this.#read + wanted > longestHeader) throw malformed(this.#file, 'its header is too long')
    const next = Buffer.allocUnsafe(rest.length + wanted)
    rest.copy(next)
    const { bytesRead } = await this.#handle.read(next, rest.length, wanted, this.#read)
    this.#read += bytesRead
    this.#bytes = next.subarray(0, rest.length + bytesRead)
    this.#at = 0
    if (this.#bytes.length < length) throw malformed(this.#file, 'it ends in the middle of its header')
  }
}

/** Without a BigInt for each of a vocabulary's texts. What does not fit is too long anyway. */
function readLength(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at)
}

function malformed(file: string, problem: string): SluiceError {
  return new SluiceError('model_files_unusable', {
    reason: `${file} is not a model file that can be read: ${problem}.`,
  })
}
