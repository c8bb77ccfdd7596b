import { randomUUID } from 'node:crypto'
import { literalRules, quoteLiteral } from './literal-trie.ts'
import { tooLarge } from './schema-budget.ts'
import { type ConvertedSchema, mapParts, ruleOf } from './schema-parts.ts'
import type { GrammarRule } from './values/grammar-rule.ts'

/** Lists up to this length are left to the library, which writes one alternative for each value. */
const fewValues = 8
/** How many characters may be possible next in one place: with 1,000 of them, a token took a quarter of a second. */
const mostWays = 1024

/** What is taken out of a schema: values to choose from, or a rule of our own. */
type Lifted = { readonly values: readonly unknown[] } | { readonly rule: GrammarRule }

/** A schema without what the library cannot write, or not well, and how to put that into the grammar made from it. */
export interface LiftedParts {
  readonly schema: ConvertedSchema
  readonly putBack: (grammar: string) => string
}

/**
 * Takes rules of our own out of a schema, and long enums, since the library would write one alternative for each
 * value. They are put back into the grammar, enums as trees.
 */
export function liftRules(schema: ConvertedSchema, param: string): LiftedParts {
  const lifted = new Map<string, Lifted>()
  const lift = (part: ConvertedSchema): ConvertedSchema => {
    const found = liftedFrom(part)
    if (!found) return mapParts(part, lift)
    // Random, so that no schema of a client contains it.
    const placeholder = randomUUID()
    lifted.set(placeholder, found)
    const { $defs } = part
    return { ...($defs === undefined ? {} : mapParts({ $defs }, lift)), const: placeholder }
  }
  return { schema: lift(schema), putBack: (grammar) => putBack(grammar, lifted, param) }
}

function liftedFrom(part: ConvertedSchema): Lifted | undefined {
  const rule = ruleOf(part)
  if (rule) return { rule }
  const values: unknown = 'const' in part ? [part['const']] : part['enum']
  if (!Array.isArray(values)) return undefined
  const isPlain = values.every((value) => typeof value !== 'object' || value === null)
  return isPlain && values.length <= fewValues ? undefined : { values }
}

function putBack(grammar: string, lifted: ReadonlyMap<string, Lifted>, param: string): string {
  const expressions = new Map<string, string>()
  const lines = new Set<string>()
  const names = new Map<string, string>()
  for (const [placeholder, part] of lifted) {
    const next = `part-${expressions.size}`
    const { expression, rules = [] } = 'rule' in part ? part.rule : valueRule(part.values, next, param)
    // What many fields have in common is written once.
    const name = names.get(expression) ?? next
    names.set(expression, name)
    expressions.set(quoteLiteral(JSON.stringify(placeholder)), name)
    for (const line of [`${name} ::= ${expression}`, ...rules]) lines.add(line)
  }
  if (expressions.size === 0) return grammar
  const quoted = /"\\"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\\""/g
  return [grammar.replaceAll(quoted, (found) => expressions.get(found) ?? found), ...lines].join('\n')
}

function valueRule(values: readonly unknown[], name: string, param: string): GrammarRule {
  const { widest, ...rule } = literalRules(
    values.map((value) => JSON.stringify(value)),
    name,
  )
  if (widest > mostWays)
    throw tooLarge(param, `has an enum whose values differ in more than ${mostWays} characters in one place`)
  return rule
}
