/** Longer views are made each time. */
const longestView = 4_096

/**
 * A buffer that is reused for bytes on their way out, as long as nobody keeps them. It remembers one view of its
 * beginning for each length up to 4 KiB that was asked for: making a view takes longer than copying the bytes, and a
 * request needs three.
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

  /** A view of the first `length` bytes. */
  first(length: number): Buffer {
    if (length > longestView) return this.bytes.subarray(0, length)
    return (this.#views[length] ??= this.bytes.subarray(0, length))
  }

  has(bytes: Buffer): boolean {
    return bytes.buffer === this.bytes.buffer
  }

  /** Takes a new buffer, because somebody keeps the old one. */
  renew(): void {
    this.bytes = Buffer.allocUnsafeSlow(this.#size)
    this.#views.fill(undefined)
  }
}
