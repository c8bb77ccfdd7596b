/** Longer ones are made when they are needed. */
const longestView = 4_096

/**
 * A place for bytes on their way, with its beginnings at hand: to make a view of one takes longer than to copy what is in it, and
 * no other place than these is read from or written to tens of thousands of times a second.
 */
export class ByteRoom {
  readonly #size: number
  readonly #views: Array<Buffer | undefined> = Array.from({ length: longestView + 1 })
  bytes: Buffer

  constructor(size: number) {
    this.#size = size
    // Not from Node's pool, which others write to.
    this.bytes = Buffer.allocUnsafeSlow(size)
  }

  /** So many bytes from its beginning. */
  first(length: number): Buffer {
    if (length > longestView) return this.bytes.subarray(0, length)
    return (this.#views[length] ??= this.bytes.subarray(0, length))
  }

  has(bytes: Buffer): boolean {
    return bytes.buffer === this.bytes.buffer
  }

  /** Another place: what was here is somebody's from now on. */
  renew(): void {
    this.bytes = Buffer.allocUnsafeSlow(this.#size)
    this.#views.fill(undefined)
  }
}
