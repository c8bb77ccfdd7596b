/** Collects a JSON string, as it stands between its quotes, from pieces, up to a limit. */
export class CapturedText {
  readonly #bytes: Buffer
  readonly #limit: number
  #length = 0
  #isCut = false
  #hasEscape = false

  constructor(limitBytes: number) {
    this.#limit = limitBytes
    this.#bytes = Buffer.allocUnsafeSlow(limitBytes)
  }

  begin(): void {
    this.#length = 0
    this.#isCut = false
    this.#hasEscape = false
  }

  add(piece: Buffer, from: number, to: number): void {
    const end = Math.min(to, from + this.#limit - this.#length)
    if (end < to) this.#isCut = true
    for (let at = from; at < end; at++) this.#bytes[this.#length++] = piece[at] ?? 0
  }

  /** Adds a byte of an escape sequence. */
  addByte(byte: number): void {
    this.#hasEscape = true
    if (this.#length < this.#limit) this.#bytes[this.#length++] = byte
    else this.#isCut = true
  }

  /** A string that is too long to be kept equals none of them. */
  oneOf(names: readonly string[]): string | undefined {
    if (this.#isCut || this.#length < 2) return undefined
    if (this.#hasEscape) {
      const decoded = this.decoded()
      return names.find((name) => name === decoded)
    }
    return names.find((name) => this.#is(name))
  }

  /** The decoded string, cut off if it is too long. */
  decoded(): string {
    const raw = this.#bytes.toString('utf8', 0, this.#length)
    if (!this.#hasEscape || this.#isCut) return raw
    try {
      const value: unknown = JSON.parse(`"${raw}"`)
      return String(value)
    } catch {
      return raw
    }
  }

  #is(name: string): boolean {
    if (this.#length !== name.length) return false
    for (let at = 0; at < name.length; at++) if (this.#bytes[at] !== name.charCodeAt(at)) return false
    return true
  }
}
