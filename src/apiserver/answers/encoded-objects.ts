import { isJsonObject } from '../../resources/json-value.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

const bytesForObjects = 8 * 1024 * 1024
const bytesForLists = 16 * 1024 * 1024
const bytesForLines = 4 * 1024 * 1024
const newline = Buffer.from('\n')

/**
 * Objects as JSON bytes, encoded once for everybody. Stored objects are never changed in place, so the bytes of an
 * object stay valid as long as it exists.
 */
export class EncodedObjects {
  readonly #objects = new ForgetfulMap(bytesForObjects, bytesForObjects / 8)
  /** By array: a list that has not changed is the same array. */
  readonly #lists = new ForgetfulMap(bytesForLists, bytesForLists / 2)
  readonly #lines: Readonly<Record<EventType, ForgetfulMap>> = {
    ADDED: new ForgetfulMap(bytesForLines, bytesForLines / 16),
    MODIFIED: new ForgetfulMap(bytesForLines, bytesForLines / 16),
    DELETED: new ForgetfulMap(bytesForLines, bytesForLines / 16),
  }

  #gathered: GatheredList | undefined

  /** The JSON of an object, without a line break. */
  bytes(object: object): Buffer {
    return this.#objects.get(object) ?? this.#objects.set(object, Buffer.from(JSON.stringify(object)))
  }

  /**
   * A line of a watch, shared because many watch the same object. `json` is the object's JSON where it is already
   * known.
   */
  line(type: EventType, shown: object, json?: string): Buffer {
    const lines = this.#lines[type]
    const known = lines.get(shown)
    if (known) return known
    return lines.set(shown, Buffer.from(`{"type":"${type}","object":${json ?? JSON.stringify(shown)}}\n`))
  }

  /** The body of an answer that is one object. */
  body(shown: unknown): Buffer {
    if (!isJsonObject(shown)) return Buffer.from(`${JSON.stringify(shown)}\n`)
    return Buffer.concat([this.bytes(shown), newline])
  }

  /** All items of a list with commas between them, and its end, if a previous answer kept them. */
  list(items: readonly unknown[]): Buffer | undefined {
    return this.#lists.get(items)
  }

  /**
   * Collects the bytes of a list while it is encoded, for the next who asks. Only of the latest list, since its bytes
   * are held twice while they are collected.
   */
  gatherList(items: readonly unknown[]): GatheredList {
    const gathered: GatheredList = new GatheredList(bytesForLists / 2, (bytes) => {
      if (this.#gathered === gathered) this.#lists.set(items, bytes)
    })
    this.#gathered?.drop()
    this.#gathered = gathered
    return gathered
  }
}

export class GatheredList {
  readonly #limit: number
  readonly #keep: (bytes: Buffer) => void
  #parts: Buffer[] | undefined = []
  #size = 0

  constructor(limit: number, keep: (bytes: Buffer) => void) {
    this.#limit = limit
    this.#keep = keep
  }

  add(piece: Buffer): void {
    this.#size += piece.length
    if (this.#size > this.#limit) this.drop()
    this.#parts?.push(piece)
  }

  /** The list is complete: keeps its bytes. */
  keep(): void {
    if (this.#parts)
      this.#keep(this.#parts.length === 1 && this.#parts[0] ? this.#parts[0] : Buffer.concat(this.#parts))
    this.drop()
  }

  drop(): void {
    this.#parts = undefined
  }
}

/**
 * Bytes by object, bounded by two generations: when the young one is full it becomes the old one, and what is used
 * again moves back to the young. What is not used is forgotten, as is what nobody holds any more.
 */
class ForgetfulMap {
  readonly #limit: number
  readonly #largest: number
  #young = new WeakMap<object, Buffer>()
  #old = new WeakMap<object, Buffer>()
  #youngBytes = 0

  /** Entries larger than `largest` are not kept: they would only push out the rest. */
  constructor(bytes: number, largest: number) {
    this.#limit = bytes / 2
    this.#largest = largest
  }

  get(object: object): Buffer | undefined {
    const known = this.#young.get(object)
    if (known) return known
    const old = this.#old.get(object)
    return old && this.set(object, old)
  }

  set(object: object, bytes: Buffer): Buffer {
    if (bytes.length > this.#largest) return bytes
    if (this.#youngBytes + bytes.length > this.#limit) {
      this.#old = this.#young
      this.#young = new WeakMap()
      this.#youngBytes = 0
    }
    this.#young.set(object, bytes)
    this.#youngBytes += bytes.length
    return bytes
  }
}
