import { isJsonObject } from '../../resources/json-value.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

const bytesForObjects = 8 * 1024 * 1024
const bytesForLists = 16 * 1024 * 1024
const bytesForLines = 4 * 1024 * 1024
const newline = Buffer.from('\n')

/**
 * Objects as JSON bytes, each encoded once for all who ask: stored objects are never changed in place, so the bytes of
 * one are good as long as it is.
 */
export class EncodedObjects {
  readonly #objects = new ForgetfulMap(bytesForObjects, bytesForObjects / 8)
  /** By the array: a list that has not changed is the same one. */
  readonly #lists = new ForgetfulMap(bytesForLists, bytesForLists / 2)
  readonly #lines: Readonly<Record<EventType, ForgetfulMap>> = {
    ADDED: new ForgetfulMap(bytesForLines, bytesForLines / 16),
    MODIFIED: new ForgetfulMap(bytesForLines, bytesForLines / 16),
    DELETED: new ForgetfulMap(bytesForLines, bytesForLines / 16),
  }

  #gathered: GatheredList | undefined

  /** Without a line break. */
  bytes(object: object): Buffer {
    return this.#objects.get(object) ?? this.#objects.set(object, Buffer.from(JSON.stringify(object)))
  }

  /** A line of a watch: one write is seen by many. `json`: the object, where it is encoded already. */
  line(type: EventType, shown: object, json?: string): Buffer {
    const lines = this.#lines[type]
    const known = lines.get(shown)
    if (known) return known
    return lines.set(shown, Buffer.from(`{"type":"${type}","object":${json ?? JSON.stringify(shown)}}\n`))
  }

  /** An answer's body: an object as it is. */
  body(shown: unknown): Buffer {
    if (!isJsonObject(shown)) return Buffer.from(`${JSON.stringify(shown)}\n`)
    return Buffer.concat([this.bytes(shown), newline])
  }

  /** All items of a list, with commas between them, to its end. */
  list(items: readonly unknown[]): Buffer | undefined {
    return this.#lists.get(items)
  }

  /**
   * Gathers the bytes of a list while it is encoded, for the next who asks. Of the latest list
   * only: each is held twice meanwhile.
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

  /** It is complete. */
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
 * Bytes by object, bounded by two generations: when the young one is full it becomes the old one, and what is asked for
 * again moves back. What is not asked for is forgotten, as is what nobody holds any more.
 */
class ForgetfulMap {
  readonly #limit: number
  readonly #largest: number
  #young = new WeakMap<object, Buffer>()
  #old = new WeakMap<object, Buffer>()
  #youngBytes = 0

  /** What is larger than `largest` would only push the rest out. */
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
