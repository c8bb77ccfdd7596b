/** Splits a connection's data into messages, each of which is preceded by its length. */
export class MessageFramer {
  /** Chunks of a message that is not complete yet; joined only when it is. */
  #pieces: Buffer[] = []
  #bytes = 0

  add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }

  /** The next complete message. */
  next(): Buffer | undefined {
    if (this.#bytes < 2) return undefined
    const [first] = this.#pieces
    const length = (first && first.length >= 2 ? first : this.#joined()).readUInt16BE(0)
    if (this.#bytes < 2 + length) return undefined
    const whole = this.#joined()
    const rest = whole.subarray(2 + length)
    this.#pieces = rest.length > 0 ? [rest] : []
    this.#bytes = rest.length
    return whole.subarray(2, 2 + length)
  }

  #joined(): Buffer {
    const [only] = this.#pieces
    const whole = this.#pieces.length === 1 && only ? only : Buffer.concat(this.#pieces)
    this.#pieces = [whole]
    return whole
  }
}

/** The message with its length in front, as it is sent over TCP. */
export function framed(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(2 + message.length)
  bytes.writeUInt16BE(message.length)
  message.copy(bytes, 2)
  return bytes
}
