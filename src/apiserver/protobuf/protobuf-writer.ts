const smallestBytes = 1 << 16

/** Writes protobuf's wire format from front to back. Zero and empty values are not written, as proto3 demands. */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafeSlow(smallestBytes)
  #at = 0

  text(field: number, value: string): void {
    if (value === '') return
    const size = Buffer.byteLength(value)
    this.#tag(field, 2)
    this.#varint(size)
    this.#room(size)
    this.#at += this.#bytes.write(value, this.#at)
  }

  /** Must not be negative: that would take 64 bits, and nothing written here is. */
  integer(field: number, value: number): void {
    if (value <= 0 || !Number.isSafeInteger(value)) return
    this.#tag(field, 0)
    this.#varint(value)
  }

  /** `always`: also writes false, which in a choice differs from nothing. */
  boolean(field: number, value: boolean, always = false): void {
    if (!value && !always) return
    this.#tag(field, 0)
    this.#varint(value ? 1 : 0)
  }

  double(field: number, value: number): void {
    if (value === 0) return
    this.#tag(field, 1)
    this.#room(8)
    this.#at = this.#bytes.writeDoubleLE(value, this.#at)
  }

  /** A nested message with what `write` writes. */
  message(field: number, write: () => void): void {
    const begin = this.begin(field)
    write()
    this.end(begin)
  }

  /** What is written until `end` is told what this returns is a nested message. */
  begin(field: number): number {
    this.#tag(field, 2)
    // Most messages are short: one byte is left for the size, and longer ones are moved.
    this.#room(1)
    this.#at += 1
    return this.#at
  }

  end(begin: number): void {
    const size = this.#at - begin
    const more = varintSize(size) - 1
    if (more > 0) {
      this.#room(more)
      this.#bytes.copyWithin(begin + more, begin, this.#at)
    }
    this.#at = begin - 1
    this.#varint(size)
    this.#at += size
  }

  finish(): Buffer {
    const result = Buffer.allocUnsafeSlow(this.#at)
    this.#bytes.copy(result, 0, 0, this.#at)
    return result
  }

  #tag(field: number, wireType: 0 | 1 | 2): void {
    this.#varint(field * 8 + wireType)
  }

  #varint(value: number): void {
    this.#room(8)
    let rest = value
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.#at++] = rest
  }

  #room(size: number): void {
    const needed = this.#at + size
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

function varintSize(value: number): number {
  let size = 1
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size += 1
  return size
}
