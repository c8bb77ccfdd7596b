import type { SluiceError } from '../../foundation/errors.ts'
import { type Entries, refuseSchema } from './schema-entries.ts'
import { formatRule, knownFormats } from './values/format-grammars.ts'
import { type GrammarRule, NoGrammar } from './values/grammar-rule.ts'
import { integerRule, type NumberLimits, numberRule } from './values/number-grammar.ts'
import { patternRule } from './values/pattern-grammar.ts'

export const numberKeywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'format']
export const textKeywords = ['minLength', 'maxLength', 'pattern', 'format']

/** A number, within its limits. */
export function numberSchema(type: 'number' | 'integer', entries: Entries, at: string): Entries {
  const limits = numberLimits(entries, at)
  if (Object.values(limits).every((limit) => limit === undefined)) return { type }
  const rule = ruleOf(() => (type === 'integer' ? integerRule(limits) : numberRule(limits)), at)
  return { type, rule }
}

function numberLimits(entries: Entries, at: string): NumberLimits {
  const limit = (name: keyof NumberLimits): number | undefined => {
    const value = entries[name]
    if (value === undefined || typeof value === 'boolean') return undefined
    if (typeof value !== 'number' || !Number.isFinite(value)) throw refuseSchema(`${at}.${name}`, 'it must be a number')
    return value
  }
  const [minimum, maximum] = [limit('minimum'), limit('maximum')]
  // Older schemas say by `true` that the limit itself is excluded.
  const [noMinimum, noMaximum] = [entries['exclusiveMinimum'] === true, entries['exclusiveMaximum'] === true]
  return {
    minimum: noMinimum ? undefined : minimum,
    maximum: noMaximum ? undefined : maximum,
    exclusiveMinimum: noMinimum ? minimum : limit('exclusiveMinimum'),
    exclusiveMaximum: noMaximum ? maximum : limit('exclusiveMaximum'),
    multipleOf: limit('multipleOf'),
  }
}

/**
 * A text. The pattern counts first, because who writes both means the pattern; one that a grammar cannot tell is left
 * to the format. `undefined`: neither restricts it.
 */
export function textRule({ pattern, format, minLength, maxLength }: Entries, at: string): GrammarRule | undefined {
  const rule = patternOrFormat(pattern, format, at)
  if (!rule) return undefined
  const { fewest = 0, most = Infinity } = rule
  const name = pattern === undefined ? 'format' : 'pattern'
  if (typeof minLength === 'number' && minLength > fewest) throw lengthRefusal(`${at}.minLength`, name)
  if (typeof maxLength === 'number' && maxLength < most) throw lengthRefusal(`${at}.maxLength`, name)
  return rule
}

function patternOrFormat(pattern: unknown, format: unknown, at: string): GrammarRule | undefined {
  const shape = format === undefined ? 'any' : typeof format === 'string' ? formatRule(format) : undefined
  if (pattern === undefined) {
    if (shape === undefined) {
      const known = knownFormats.join(', ')
      throw refuseSchema(`${at}.format`, `the format ${JSON.stringify(format)} is not known; known are ${known}`)
    }
    return shape === 'any' ? undefined : shape
  }
  if (typeof pattern !== 'string') throw refuseSchema(`${at}.pattern`, 'it must be a text')
  try {
    return patternRule(pattern)
  } catch (error) {
    if (error instanceof NoGrammar && shape !== undefined && shape !== 'any') return shape
    throw asRefusal(error, `${at}.pattern`)
  }
}

function lengthRefusal(param: string, other: string): SluiceError {
  return refuseSchema(param, `it cannot be combined with a ${other} that allows other lengths; say it in the ${other}`)
}

function ruleOf(make: () => GrammarRule, at: string): GrammarRule {
  try {
    return make()
  } catch (error) {
    throw asRefusal(error, at)
  }
}

function asRefusal(error: unknown, at: string): unknown {
  return error instanceof NoGrammar ? refuseSchema(at, error.message) : error
}
