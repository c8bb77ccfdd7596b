/** A place that is used again and again for bytes on their way, as long as nobody holds on to what is in it. */
export class ByteRoom {
  readonly #size: number
  bytes: Buffer

  constructor(size: number) {
    this.#size = size
    // Not from Node's pool, which others write to.
    this.bytes = Buffer.allocUnsafeSlow(size)
  }

  /** So many bytes from its beginning. */
  first(length: number): Buffer {
    return this.bytes.subarray(0, length)
  }

  has(bytes: Buffer): boolean {
    return bytes.buffer === this.bytes.buffer
  }

  /** Another place: what was here is somebody's from now on. */
  renew(): void {
    this.bytes = Buffer.allocUnsafeSlow(this.#size)
  }
}
