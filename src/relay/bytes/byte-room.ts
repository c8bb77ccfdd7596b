/** Longer ones are made when they are needed. */
const longestView = 4_096

/**
 * A place that is used again and again for bytes on their way, as long as nobody holds on to what is in it. It
 * remembers views of its beginnings, one for each length up to 4 KiB that was asked for: to make a view takes longer
 * than to copy what is in it, and three are needed for a request.
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
