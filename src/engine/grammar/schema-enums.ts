import { randomUUID } from 'node:crypto'
import { literalRules, quoteLiteral } from './literal-trie.ts'
import { type ConvertedSchema, mapParts } from './schema-parts.ts'
import { tooLarge } from './schema-budget.ts'

/** Lists up to this length are left to the library, which writes one alternative for each value. */
const fewValues = 8
/** How many characters may be possible next in one place: with 1,000 of them, a token took a quarter of a second. */
const mostWays = 1024

/** A schema without its long lists of values, and how to put these into the grammar that is made from it. */
export interface LiftedEnums {
  readonly schema: ConvertedSchema
  readonly putBack: (grammar: string) => string
}

/**
 * Takes long enums out of a schema, since the library would write one alternative for each value. They are put back
 * into the grammar as trees.
 */
export function liftEnums(schema: ConvertedSchema, param: string): LiftedEnums {
  const lifted = new Map<string, readonly unknown[]>()
  const lift = (part: ConvertedSchema): ConvertedSchema => {
    const values: unknown = part['enum']
    if (!Array.isArray(values) || values.length <= fewValues) return mapParts(part, lift)
    // Random, so that no schema of a client contains it.
    const placeholder = randomUUID()
    lifted.set(placeholder, values)
    return { const: placeholder }
  }
  return { schema: lift(schema), putBack: (grammar) => putBack(grammar, lifted, param) }
}

function putBack(grammar: string, lifted: ReadonlyMap<string, readonly unknown[]>, param: string): string {
  const expressions = new Map<string, string>()
  const lines: string[] = []
  for (const [placeholder, values] of lifted) {
    const texts = values.map((value) => JSON.stringify(value))
    const { expression, rules, widest } = literalRules(texts, `enum-${expressions.size}`)
    if (widest > mostWays)
      throw tooLarge(param, `has an enum whose values differ in more than ${mostWays} characters in one place`)
    const name = `enum-${expressions.size}`
    expressions.set(quoteLiteral(JSON.stringify(placeholder)), name)
    lines.push(`${name} ::= ${expression}`, ...rules)
  }
  if (expressions.size === 0) return grammar
  const quoted = /"\\"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\\""/g
  return [grammar.replaceAll(quoted, (found) => expressions.get(found) ?? found), ...lines].join('\n')
}
