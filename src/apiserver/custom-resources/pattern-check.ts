import { ExpressionError } from '../regular-expression/expression-syntax.ts'
import { RegularExpression } from '../regular-expression/regular-expression.ts'

/** The most steps of all expressions of a schema together; the largest single one has 20,000. */
const mostSteps = 500_000
const largest = 20_000

/** Checks the regular expressions of one schema, each text once, and all within a common bound. */
export class PatternCheck {
  readonly #known = new Map<string, string | undefined>()
  #steps = 0

  /** `undefined`: there is no problem. */
  problemWith(pattern: string): string | undefined {
    if (this.#known.has(pattern)) return this.#known.get(pattern)
    if (this.#steps > mostSteps) return 'the expressions of the schema are too large together'
    const problem = this.#compile(pattern)
    this.#known.set(pattern, problem)
    return problem
  }

  #compile(pattern: string): string | undefined {
    try {
      this.#steps += new RegularExpression(pattern).size
      return undefined
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      this.#steps += largest
      return error.message
    }
  }
}
