const pattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/
/** Whole numbers of up to three digits are canonical already, whatever the suffix. */
const already = /^[1-9]\d{0,2}(?:m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/

const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const nanos = 1_000_000_000n
const largest = (2n ** 63n - 1n) * nanos

/** An exact amount, and the format in which it was written. */
export interface Quantity {
  /** In billionths. */
  readonly amount: bigint
  readonly format: 'decimal' | 'binary' | 'exponent'
}

/** `undefined` when it is not a quantity. */
export function readQuantity(text: string): Quantity | undefined {
  const match = pattern.exec(text)
  if (!match || text.length > 64) return undefined
  const [, sign = '', whole = '', fraction = '', exponent, suffix = ''] = match
  if (whole === '' && fraction === '') return undefined
  const binary = binarySuffixes.indexOf(suffix)
  const isBinary = suffix !== '' && binary > 0
  const tens = exponent === undefined ? (isBinary ? 0 : 3 * (decimalSuffixes.indexOf(suffix) - 3)) : Number(exponent)
  const digits = BigInt(whole + fraction) * (isBinary ? 1024n ** BigInt(binary) : 1n)
  const amount = smaller(scaled(digits, tens - fraction.length + 9), largest)
  const format = isBinary ? 'binary' : exponent === undefined ? 'decimal' : 'exponent'
  return { amount: sign === '-' ? -amount : amount, format }
}

/** An amount in the canonical form in which Kubernetes stores it. */
export function quantityText({ amount, format }: Quantity): string {
  const [minus, size] = amount < 0n ? ['-', -amount] : ['', amount]
  // What is not a whole number of bytes is written in decimal, so that nothing is lost.
  if (format === 'binary' && size >= 1024n * nanos && size % nanos === 0n) return minus + binaryText(size)
  return minus + decimalText(size, format === 'exponent')
}

/**
 * A quantity in the canonical form in which Kubernetes stores it: `0.5` is `500m`, `1024Mi` is `1Gi`; `undefined` when
 * it is not a quantity.
 */
export function canonicalQuantity(text: string): string | undefined {
  if (already.test(text)) return text
  const quantity = readQuantity(text)
  return quantity && quantityText(quantity)
}

/** `digits` × 10^`tens`, rounded up. */
function scaled(digits: bigint, tens: number): bigint {
  if (tens >= 0) return digits * 10n ** BigInt(tens)
  const divisor = 10n ** BigInt(-tens)
  return (digits + divisor - 1n) / divisor
}

function binaryText(amount: bigint): string {
  let value = amount / nanos
  let power = 0
  for (; value % 1024n === 0n && power < binarySuffixes.length - 1; power++) value /= 1024n
  return `${value}${binarySuffixes[power]}`
}

function decimalText(amount: bigint, asExponent: boolean): string {
  if (amount === 0n) return '0'
  let value = amount
  let power = 0
  for (; value % 1000n === 0n && power < decimalSuffixes.length - 1; power++) value /= 1000n
  if (!asExponent) return `${value}${decimalSuffixes[power]}`
  const exponent = 3 * (power - 3)
  return exponent === 0 ? String(value) : `${value}e${exponent}`
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}
