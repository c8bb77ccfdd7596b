const form = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/
const decimalPowers: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binaryPowers: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }
const unit = 10n ** 9n

/** A quantity as rules compute with it: exact, in units of 10⁻⁹, the finest that Kubernetes keeps. */
export class Quantity {
  readonly #nanos: bigint

  private constructor(nanos: bigint) {
    this.#nanos = nanos
  }

  static whole(value: bigint): Quantity {
    return new Quantity(value * unit)
  }

  static isQuantity(text: string): boolean {
    return text.length <= 64 && form.test(text)
  }

  static parse(text: string): Quantity {
    const match = text.length <= 64 ? form.exec(text) : null
    if (!match) {
      throw new TypeError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    }
    const [, sign, digits = '0', exponent = '0', suffix = ''] = match
    const [whole = '0', fraction = ''] = digits.split('.')
    const power = 9 - fraction.length + Number(exponent) + (decimalPowers[suffix] ?? 0)
    const scaled = BigInt(whole + fraction) * 2n ** BigInt(binaryPowers[suffix] ?? 0)
    const nanos = power >= 0 ? scaled * 10n ** BigInt(power) : roundedUp(scaled, 10n ** BigInt(-power))
    return new Quantity(sign === '-' ? -nanos : nanos)
  }

  sign(): bigint {
    return this.#nanos > 0n ? 1n : this.#nanos < 0n ? -1n : 0n
  }

  compare(other: Quantity): bigint {
    return new Quantity(this.#nanos - other.#nanos).sign()
  }

  plus(other: Quantity): Quantity {
    return new Quantity(this.#nanos + other.#nanos)
  }

  minus(other: Quantity): Quantity {
    return new Quantity(this.#nanos - other.#nanos)
  }

  isInteger(): boolean {
    return this.#nanos % unit === 0n && fits(this.#nanos / unit)
  }

  asInteger(): bigint {
    if (this.isInteger()) return this.#nanos / unit
    throw new RangeError('cannot convert value to integer')
  }

  asApproximateFloat(): number {
    return Number(this.#nanos) / 1e9
  }
}

function roundedUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by
}

function fits(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value
}
