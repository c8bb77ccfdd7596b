import { type GrammarRule, NoGrammar, oneOf } from './grammar-rule.ts'
import { literalRules } from '../literal-trie.ts'

/** What a schema says of a number. */
export interface NumberLimits {
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  readonly exclusiveMinimum?: number | undefined
  readonly exclusiveMaximum?: number | undefined
  readonly multipleOf?: number | undefined
}

/** As many digits as every program keeps when it reads a number. */
const mostDigits = 15
/** Multiples that are fewer are listed. */
const mostListed = 4_096

/** A bound of a number without sign: its digits before and after the point, and whether it is itself excluded. */
interface Bound {
  readonly whole: bigint
  readonly fraction: string
  readonly excluded: boolean
}

const zero: Bound = { whole: 0n, fraction: '', excluded: false }

/** Whole numbers within limits, digit by digit. */
export function integerRule(limits: NumberLimits): GrammarRule {
  const lowest = wholeBound(limits.minimum, limits.exclusiveMinimum, 'up')
  const highest = wholeBound(limits.maximum, limits.exclusiveMaximum, 'down')
  const { multipleOf } = limits
  if (multipleOf === undefined || multipleOf === 1) return { expression: wholeNumbers(lowest, highest) }
  if (!Number.isSafeInteger(multipleOf) || multipleOf <= 0) {
    throw new NoGrammar('multipleOf must be a whole number above 0 for whole numbers')
  }
  if (lowest === undefined || highest === undefined) {
    throw new NoGrammar('multipleOf of whole numbers needs a minimum and a maximum, too')
  }
  return { expression: listedMultiples(BigInt(multipleOf), lowest, highest) }
}

/** Numbers within limits, without exponents. `multipleOf` may be a power of ten, such as 0.01. */
export function numberRule(limits: NumberLimits): GrammarRule {
  const { multipleOf } = limits
  const places = multipleOf === undefined ? mostDigits : decimalPlaces(multipleOf)
  const lowest = signedBound(limits.minimum, limits.exclusiveMinimum, (one, other) => Math.max(one, other))
  const highest = signedBound(limits.maximum, limits.exclusiveMaximum, (one, other) => Math.min(one, other))
  const parts: string[] = []
  if (highest === undefined || highest.value >= 0) {
    const from = lowest && lowest.value >= 0 ? lowest.bound : zero
    const range = decimals(from, highest?.bound, places)
    if (range !== undefined) parts.push(range)
  }
  if (lowest === undefined || lowest.value < 0) {
    const from = highest && highest.value < 0 ? highest.bound : { ...zero, excluded: true }
    const range = decimals(from, lowest?.bound, places)
    if (range !== undefined) parts.push(`"-" ${range}`)
  }
  return { expression: oneOf(parts) }
}

function decimalPlaces(multipleOf: number): number {
  const places = Math.round(-Math.log10(multipleOf))
  if (places >= 0 && places <= mostDigits && Number(`1e-${places}`) === multipleOf) return places
  throw new NoGrammar('multipleOf must be 1, 0.1, 0.01 or a smaller power of ten for numbers that are not whole')
}

function wholeBound(
  included: number | undefined,
  excluded: number | undefined,
  round: 'up' | 'down',
): bigint | undefined {
  const rounded = round === 'up' ? Math.ceil : Math.floor
  const step = round === 'up' ? 1n : -1n
  const bounds: bigint[] = []
  // Whoever writes the largest safe number means none; more than so many digits are not written anyway.
  const restricts = (bound: number | undefined) => bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER
  if (included !== undefined && restricts(included)) bounds.push(BigInt(rounded(included)))
  if (excluded !== undefined && restricts(excluded))
    bounds.push(BigInt(rounded(excluded)) + (Number.isInteger(excluded) ? step : 0n))
  return bounds.reduce<bigint | undefined>((tightest, one) => {
    const isTighter = tightest === undefined || (round === 'up' ? one > tightest : one < tightest)
    return isTighter ? one : tightest
  }, undefined)
}

function wholeNumbers(lowest: bigint | undefined, highest: bigint | undefined): string {
  const parts: string[] = []
  if (highest === undefined || highest >= 0n) {
    const from = lowest !== undefined && lowest > 0n ? lowest : 0n
    if (highest === undefined || from <= highest) parts.push(digitRange(from, highest))
  }
  if (lowest === undefined || lowest < 0n) {
    const from = highest !== undefined && highest < 0n ? -highest : 1n
    if (lowest === undefined || from <= -lowest) parts.push(`"-" ${digitRange(from, lowest && -lowest)}`)
  }
  return oneOf(parts)
}

/** The decimal digits of the numbers from `low` to `high`, without zeros in front. */
function digitRange(low: bigint, high: bigint | undefined): string {
  const parts: string[] = []
  if (high === undefined) {
    const digits = low.toString().length
    parts.push(sameLength(low.toString(), '9'.repeat(digits)))
    const more = mostDigits - digits
    if (more > 0) parts.push(`[1-9] [0-9]{${digits},${mostDigits - 1}}`)
    return oneOf(parts)
  }
  for (let from = low; from <= high;) {
    const last = 10n ** BigInt(from.toString().length) - 1n
    const to = last < high ? last : high
    parts.push(sameLength(from.toString(), to.toString()))
    from = to + 1n
  }
  return oneOf(parts)
}

/** Digits between two numbers of the same length. */
function sameLength(low: string, high: string): string {
  if (low === high) return low === '' ? '""' : `"${low}"`
  const rest = low.length - 1
  const [first = '', last = ''] = [low[0], high[0]]
  if (rest === 0) return digits(first, last)
  if (first === last) return `"${first}" ${sameLength(low.slice(1), high.slice(1))}`
  const parts: string[] = []
  const lowIsFull = /^0*$/.test(low.slice(1))
  const highIsFull = /^9*$/.test(high.slice(1))
  const from = lowIsFull ? Number(first) : Number(first) + 1
  const to = highIsFull ? Number(last) : Number(last) - 1
  if (!lowIsFull) parts.push(`"${first}" ${sameLength(low.slice(1), '9'.repeat(rest))}`)
  if (from <= to) parts.push(`${digits(String(from), String(to))} ${anyDigits(rest)}`)
  if (!highIsFull) parts.push(`"${last}" ${sameLength('0'.repeat(rest), high.slice(1))}`)
  return oneOf(parts)
}

function digits(first: string, last: string): string {
  return first === last ? `"${first}"` : `[${first}-${last}]`
}

function anyDigits(count: number): string {
  return count === 1 ? '[0-9]' : `[0-9]{${count}}`
}

function listedMultiples(divisor: bigint, lowest: bigint, highest: bigint): string {
  const remainder = ((lowest % divisor) + divisor) % divisor
  const first = remainder === 0n ? lowest : lowest + divisor - remainder
  if (first > highest) throw new NoGrammar('no value could ever match')
  if ((highest - first) / divisor > BigInt(mostListed)) {
    throw new NoGrammar(`there are more than ${mostListed} multiples between minimum and maximum`)
  }
  const texts: string[] = []
  for (let value = first; value <= highest; value += divisor) texts.push(value.toString())
  return treeOf(texts)
}

/** Texts as one expression without rules of its own, as a tree of their common beginnings. */
function treeOf(texts: readonly string[]): string {
  const { expression, rules } = literalRules(texts, 'tree')
  const bodies = new Map(rules.map((rule) => [rule.slice(0, rule.indexOf(' ')), rule.slice(rule.indexOf('::=') + 4)]))
  const inlined = (text: string): string =>
    text.replaceAll(/tree-\d+/g, (name) => `(${inlined(bodies.get(name) ?? '')})`)
  return inlined(expression)
}

function signedBound(
  included: number | undefined,
  excluded: number | undefined,
  tighter: (one: number, other: number) => number,
): { readonly value: number; readonly bound: Bound } | undefined {
  const bounds = [included, excluded].filter((bound) => bound !== undefined)
  if (bounds.length === 0) return undefined
  const value = bounds.reduce(tighter)
  const text = plainDecimal(Math.abs(value))
  const [whole = '0', fraction = ''] = text.split('.')
  const isExcluded = value === excluded
  return { value, bound: { whole: BigInt(whole), fraction: fraction.replace(/0+$/, ''), excluded: isExcluded } }
}

/** Without an exponent. */
function plainDecimal(value: number): string {
  const text = String(value)
  if (!text.includes('e')) return text
  return value >= 1 ? BigInt(value).toString() : value.toFixed(20)
}

/** Numbers without sign from one bound to another, with at most so many digits after the point. */
function decimals(low: Bound, high: Bound | undefined, places: number): string | undefined {
  if (high === undefined) {
    const above = digitRange(low.whole + 1n, undefined)
    return oneOf([`${above} ${anyFraction(places)}`, ...beginning(low.whole, fractionBetween(low, undefined, places))])
  }
  if (low.whole > high.whole) return undefined
  if (low.whole === high.whole) {
    const parts = beginning(low.whole, fractionBetween(low, high, places))
    return parts.length === 0 ? undefined : oneOf(parts)
  }
  const parts = [
    ...beginning(low.whole, fractionBetween(low, undefined, places)),
    ...beginning(high.whole, fractionBetween({ ...zero }, high, places)),
  ]
  if (low.whole + 1n < high.whole) {
    parts.push(`${digitRange(low.whole + 1n, high.whole - 1n)} ${anyFraction(places)}`)
  }
  return parts.length === 0 ? undefined : oneOf(parts)
}

function beginning(whole: bigint, fraction: string | undefined): string[] {
  return fraction === undefined ? [] : [`"${whole}" ${fraction}`]
}

function anyFraction(places: number): string {
  return places === 0 ? '' : `("." [0-9]{1,${places}})?`
}

/** What may follow the whole part if that is the same as the bounds'; undefined if nothing may. */
function fractionBetween(low: Bound, high: Bound | undefined, places: number): string | undefined {
  const open = {
    low: low.fraction,
    high: high?.fraction,
    lowExcluded: low.excluded,
    highExcluded: high?.excluded ?? false,
    mayGrow: places === mostDigits,
  }
  const tails = fractionDigits(open, places)
  const parts: string[] = []
  // Without a point, the fraction is 0.
  const lowIsZero = low.fraction === '' && !low.excluded
  const highIsZero = high !== undefined && high.fraction === '' && high.excluded
  if (lowIsZero && !highIsZero) parts.push('""')
  if (tails !== undefined && tails !== '' && places > 0) parts.push(`"." ${tails}`)
  return parts.length === 0 ? undefined : oneOf(parts)
}

interface FractionLimits {
  /** Digits that are still to be compared with; undefined: above it already. */
  readonly low: string | undefined
  readonly high: string | undefined
  readonly lowExcluded: boolean
  readonly highExcluded: boolean
  /** Whether there may be a few digits more than usual: none are forbidden by `multipleOf`. */
  readonly mayGrow: boolean
}

/** At least one further digit, within the limits. */
function fractionDigits(limits: FractionLimits, places: number): string | undefined {
  // Once the lower limit has been reached, whatever follows is above it.
  const low = limits.low === '' && !limits.lowExcluded ? undefined : limits.low
  const { high } = limits
  if (places === 0) return undefined
  if (low === undefined && high === undefined) return `[0-9]{1,${places}}`
  // Above the limit by however little.
  if (low === '' && high === undefined && limits.mayGrow) return `"0"{0,${mostDigits}} [1-9] [0-9]{0,${mostDigits}}`
  const lowest = low === undefined ? 0 : Number(low[0] ?? '0')
  const highest = high === undefined ? 9 : Number(high[0] ?? '0')
  const parts: string[] = []
  for (let digit = lowest; digit <= highest; digit++) {
    const next = {
      ...limits,
      low: low !== undefined && digit === lowest ? low.slice(1) : undefined,
      high: high !== undefined && digit === highest ? high.slice(1) : undefined,
    }
    const tail = fractionTail(next, places - 1)
    if (tail !== undefined) parts.push(`"${digit}" ${tail}`)
  }
  return parts.length === 0 ? undefined : oneOf(parts)
}

/** What may follow a digit: nothing, if the number is within the limits then, or further digits. */
function fractionTail(limits: FractionLimits, places: number): string | undefined {
  const { low, high, lowExcluded, highExcluded } = limits
  if (low === undefined && high === undefined) return places === 0 ? '""' : `[0-9]{0,${places}}`
  const isAtLow = low === ''
  const isAtHigh = high === ''
  const mayEnd = (low === undefined || (isAtLow && !lowExcluded)) && !(isAtHigh && highExcluded)
  // At the upper limit itself only zeros could follow, which add nothing.
  const more = isAtHigh ? undefined : fractionDigits(limits, places)
  const parts = [...(mayEnd ? ['""'] : []), ...(more === undefined ? [] : [more])]
  return parts.length === 0 ? undefined : oneOf(parts)
}
