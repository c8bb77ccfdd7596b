import { SluiceError } from '../../foundation/errors.ts'
import type { GrammarRule } from './values/grammar-rule.ts'

/**
 * The limits for all schemas of one request together. Compiling a schema blocks the event loop, so each figure was
 * chosen to compile and evaluate in well under 100 ms. All are above the limits of OpenAI's own structured outputs.
 */
export const schemaLimits = {
  schemas: 20_000,
  properties: 5_000,
  definitions: 256,
  'enum values': 20_000,
  /** In the names of properties and definitions, and in the values of enum and const. */
  characters: 500_000,
  /** What is written for limits of numbers, for patterns and for formats. */
  'characters of rules': 100_000,
  /** The sum of minLength, maxItems and the like. */
  repetitions: 10_000,
} as const

/** The library goes through all definitions wherever a schema has parts. */
const mostDefinitionLookups = 50_000

type Counted = keyof typeof schemaLimits

/** Counts what a schema contains while it is read, and refuses it when it becomes too large. */
export class SchemaBudget {
  readonly #rules = new Set<string>()
  readonly #spent: Record<Counted, number> = {
    schemas: 0,
    properties: 0,
    definitions: 0,
    'enum values': 0,
    characters: 0,
    'characters of rules': 0,
    repetitions: 0,
  }

  /** What several fields have in common is written once, and counts once. */
  spendRule({ expression, repetitions = 0 }: GrammarRule, param: string): void {
    if (this.#rules.has(expression)) return
    this.#rules.add(expression)
    this.spend('characters of rules', expression.length, param)
    this.spend('repetitions', repetitions, param)
  }

  spend(what: Counted, amount: number, param: string): void {
    this.#spent[what] += amount
    if (this.#spent[what] > schemaLimits[what]) {
      throw tooLarge(param, `has more than ${schemaLimits[what]} ${what} in all`)
    }
    if (this.#spent.schemas * this.#spent.definitions > mostDefinitionLookups) {
      const { schemas, definitions } = this.#spent
      throw tooLarge(param, `has ${definitions} definitions and more than ${schemas} schemas`)
    }
  }
}

export function tooLarge(param: string, problem: string): SluiceError {
  const reason = `The schema is too large: ${param} ${problem}. Make it smaller, or leave part of it to the prompt.`
  return new SluiceError('invalid_request', { reason, param })
}
