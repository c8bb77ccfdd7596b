/** The factors of Kubernetes' suffixes: powers of ten, and of two with an `i`. */
const multipliers: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

const quantityPattern = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/

/**
 * `500m`, `2`, `4Gi`, `1500M`, `1e3` as a number of base units (cores, bytes, cards); `undefined` when it is not a
 * quantity.
 */
export function parseQuantity(text: string): number | undefined {
  const match = quantityPattern.exec(text)
  if (!match) return undefined
  const [, digits = '', exponent = '', suffix = ''] = match
  const multiplier = multipliers[suffix]
  if (multiplier === undefined) return undefined
  // Dividing by a whole number is exact where multiplying by 1e-3 is not: 700m is 0.7, never 0.7000000000000001.
  const value = multiplier < 1 ? Number(digits) / Math.round(1 / multiplier) : Number(digits + exponent) * multiplier
  return Number.isFinite(value) ? value : undefined
}

/** The same in whole thousandths, so that sums and comparisons are exact; rounded up, as in Kubernetes. */
export function milliQuantity(text: string): number | undefined {
  const value = parseQuantity(text)
  return value === undefined ? undefined : Math.ceil(Number((value * 1000).toPrecision(15)))
}

/** Bytes as Kubernetes reports a machine's memory: in whole Ki. */
export function formatKibibytes(bytes: number): string {
  return `${Math.floor(bytes / 1024)}Ki`
}
