import type { Kind } from '../../resources/kind.ts'
import { StatusError } from '../../resources/status-error.ts'
import { hasMoreValuesThan, valuesIn } from '../../resources/json-value.ts'

/**
 * The most fields and items in what a client sends, and in what a patch makes of an object. Each one is decoded,
 * compared, tracked and written several times in turns of the event loop that others wait for; real objects seldom have
 * a thousand.
 */
export const mostValues = 30_000

export function mostValuesOf(kind: Pick<Kind, 'mostValues'>): number {
  return kind.mostValues ?? mostValues
}

export function tooManyValues(most: number, what = 'a body'): StatusError {
  const why = `${what} may have at most ${most} fields and items`
  return new StatusError('RequestEntityTooLarge', `Request entity too large: ${why}`)
}

export function bounded<T>(value: T, most: number): T {
  if (hasMoreValuesThan(value, most)) throw tooManyValues(most)
  return value
}

/**
 * Refuses a patch that makes an object larger than one that could be sent. An object that is too large already may stay
 * so, or shrink.
 */
export function refuseGrowth(before: () => unknown, after: unknown, most: number): void {
  if (!hasMoreValuesThan(after, most) || valuesIn(after) <= valuesIn(before())) return
  throw tooManyValues(most, 'an object')
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

export function tooDeep(most: number): StatusError {
  return new StatusError('BadRequest', `the body is nested deeper than ${most} levels`)
}

/**
 * The same for JSON text, by counting commas without parsing it: parsing very many keys or nested lists takes long,
 * refusing them need not.
 */
export function refuseManyCommas(text: Buffer, most: number, deepest = Infinity): void {
  if (text.length <= most) return
  let commas = 0
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at]
    if (byte === quote) isQuoted = !isQuoted
    else if (byte === backslash) at += 1
    else if (isQuoted) continue
    else if (byte === comma) commas += 1
    else if (byte === openBracket || byte === openBrace) {
      depth += 1
      if (depth > deepest) throw tooDeep(deepest)
    } else if (byte === closeBracket || byte === closeBrace) depth -= 1
  }
  // A list has one item more than commas.
  if (commas >= most) throw tooManyValues(most)
}
