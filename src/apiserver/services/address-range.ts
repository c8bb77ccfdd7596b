/** Addresses out of which Services get theirs. */
export class AddressRange {
  readonly text: string
  readonly #first: number
  readonly #size: number

  /** `127.128.0.0/9` */
  constructor(text: string) {
    const match = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text)
    const first = match?.[1] === undefined ? undefined : addressNumber(match[1])
    const bits = Number(match?.[2])
    if (first === undefined || bits < 8 || bits > 28) throw new RangeError(`not a range of IPv4 addresses: ${text}`)
    this.text = text
    this.#size = 2 ** (32 - bits)
    this.#first = first - (first % this.#size)
  }

  /** Whether a Service may have it: the first and the last of a range are nobody's. */
  contains(address: string): boolean {
    const number = addressNumber(address)
    if (number === undefined) return false
    const offset = number - this.#first
    return offset > 0 && offset < this.#size - 1
  }

  /**
   * A free address, looked for from anywhere (`start` in 0…1): two clusters on one machine hardly ever choose the same.
   * The beginning of the range is left to those who ask for an address by name, as Kubernetes does.
   */
  pick(isTaken: (address: string) => boolean, start: number): string | undefined {
    const reserved = Math.min(Math.max(16, Math.floor(this.#size / 16)), 256, this.#size - 1)
    const upper = this.#size - reserved
    const begin = Math.floor(start * upper)
    for (let step = 0; step < upper; step++) {
      const address = this.#usual(reserved + ((begin + step) % upper))
      if (address !== undefined && !isTaken(address)) return address
    }
    for (let offset = 1; offset < reserved; offset++) {
      const address = this.#usual(offset)
      if (address !== undefined && !isTaken(address)) return address
    }
    return undefined
  }

  /** Those that look like a network or its broadcast confuse people and some programs. */
  #usual(offset: number): string | undefined {
    const last = offset & 0xff
    return last === 0 || last === 255 || offset === this.#size - 1 ? undefined : addressText(this.#first + offset)
  }
}

function addressNumber(address: string): number | undefined {
  const parts = address.split('.').map(Number)
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255)) return undefined
  return parts.reduce((number, part) => number * 256 + part, 0)
}

function addressText(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join('.')
}
