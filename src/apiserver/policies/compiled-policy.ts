import { type FieldError, invalid } from '../../resources/field-error.ts'
import type { ValidatingAdmissionPolicy } from '../../resources/admission-policy-schemas.ts'
import { CelError } from '../cel/cel-errors.ts'
import { evaluationProblem } from '../cel/schema-rules.ts'
import { PolicyEvaluation, type PolicyExpression, type PolicyInput, PolicyNames } from './policy-expressions.ts'

interface Validation {
  readonly expression: PolicyExpression
  readonly message: string | undefined
  readonly messageExpression: PolicyExpression | undefined
  readonly reason: string | undefined
}

/** Why a request breaks a policy. */
export interface Violation {
  readonly message: string
  readonly reason: string | undefined
}

const longestMessage = 5120

/** A policy whose expressions are compiled. */
export class CompiledPolicy {
  readonly policy: ValidatingAdmissionPolicy
  /** What cannot be compiled, by field: a policy with any is refused. */
  readonly faults: readonly FieldError[]
  readonly #names: PolicyNames
  readonly #conditions: readonly PolicyExpression[]
  readonly #validations: readonly Validation[]

  constructor(policy: ValidatingAdmissionPolicy) {
    this.policy = policy
    const { paramKind, variables = [], matchConditions = [], validations = [] } = policy.spec
    const faults: FieldError[] = []
    const names = new PolicyNames(paramKind !== undefined)
    const compile = (field: string, source: string, result: 'bool' | 'string') =>
      attempt(faults, field, source, () => names.compile(source, result))
    // Conditions come before variables, which they cannot use.
    this.#conditions = matchConditions.flatMap(
      ({ expression }, index) => compile(`spec.matchConditions[${index}].expression`, expression, 'bool') ?? [],
    )
    for (const [index, { name, expression }] of variables.entries()) {
      attempt(faults, `spec.variables[${index}].expression`, expression, () => names.addVariable(name, expression))
    }
    this.#validations = validations.flatMap(({ expression, message, messageExpression, reason }, index) => {
      const field = `spec.validations[${index}]`
      const compiled = compile(`${field}.expression`, expression, 'bool')
      const said =
        messageExpression === undefined ? undefined : compile(`${field}.messageExpression`, messageExpression, 'string')
      return compiled ? [{ expression: compiled, message, messageExpression: said, reason }] : []
    })
    this.#names = names
    this.faults = faults
  }

  /** Which validations the request breaks, in their order. */
  judge(input: PolicyInput): readonly Violation[] {
    const evaluation = new PolicyEvaluation(this.#names, input)
    const isIgnored = this.policy.spec.failurePolicy === 'Ignore'
    const applies = this.#applies(evaluation)
    if (typeof applies !== 'boolean') return isIgnored ? [] : [applies]
    if (!applies) return []
    return this.#validations.flatMap((validation) => {
      const { expression, reason } = validation
      try {
        if (evaluation.evaluate(expression) === true) return []
      } catch (error) {
        const message = `expression '${expression.source}' resulted in error: ${evaluationProblem(error)}`
        return isIgnored ? [] : [{ message, reason: undefined }]
      }
      return [{ message: messageOf(validation, evaluation), reason }]
    })
  }

  /** Whether all conditions hold. One that does not counts more than one that cannot be computed. */
  #applies(evaluation: PolicyEvaluation): boolean | Violation {
    let problem: Violation | undefined
    for (const condition of this.#conditions) {
      try {
        if (evaluation.evaluate(condition) !== true) return false
      } catch (error) {
        problem ??= { message: evaluationProblem(error), reason: undefined }
      }
    }
    return problem ?? true
  }
}

function attempt<T>(faults: FieldError[], field: string, source: string, act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    faults.push(invalid(field, source, error.message))
    return undefined
  }
}

/** A message that cannot be computed must not hide that the rule is broken. */
function messageOf({ expression, message, messageExpression }: Validation, evaluation: PolicyEvaluation): string {
  const fixed = message?.trim() || `failed expression: ${expression.source.trim()}`
  if (!messageExpression) return fixed
  try {
    const text = String(evaluation.evaluate(messageExpression)).trim()
    return text === '' || text.includes('\n') || text.length > longestMessage ? fixed : text
  } catch {
    return fixed
  }
}
