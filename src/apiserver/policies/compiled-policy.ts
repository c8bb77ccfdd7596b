import { type FieldError, invalid } from '../../resources/field-error.ts'
import type { ValidatingAdmissionPolicy } from '../../resources/admission-policy-schemas.ts'
import { CelError } from '../cel/cel-errors.ts'
import { evaluationProblem } from '../cel/schema-rules.ts'
import type { PolicyAuthorizer } from './policy-authorizer.ts'
import {
  PolicyEvaluation,
  type PolicyExpression,
  type PolicyInput,
  PolicyNames,
  type Wanted,
} from './policy-expressions.ts'

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
  /** Which of the policy's validations is broken; 0 for what could not be judged at all. */
  readonly index: number
}

/** What a policy says about a request: what it breaks, and what its audit line is to have. */
export interface Judgement {
  readonly violations: readonly Violation[]
  readonly annotations: ReadonlyArray<readonly [key: string, value: string]>
}

interface Annotation {
  readonly key: string
  readonly expression: PolicyExpression
}

const nothing: Judgement = { violations: [], annotations: [] }

const longestMessage = 5120
const longestAnnotation = 10_240

/** A policy whose expressions are compiled. */
export class CompiledPolicy {
  readonly policy: ValidatingAdmissionPolicy
  /** What cannot be compiled, by field: a policy with any is refused. */
  readonly faults: readonly FieldError[]
  readonly #names: PolicyNames
  readonly #conditions: readonly PolicyExpression[]
  readonly #validations: readonly Validation[]
  readonly #annotations: readonly Annotation[]

  constructor(policy: ValidatingAdmissionPolicy) {
    this.policy = policy
    const { paramKind, variables = [], matchConditions = [], validations = [], auditAnnotations = [] } = policy.spec
    const faults: FieldError[] = []
    const names = new PolicyNames(paramKind !== undefined)
    const compile = (field: string, source: string, wanted: Wanted) =>
      attempt(faults, field, source, () => names.compile(source, wanted))
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
    this.#annotations = auditAnnotations.flatMap(({ key, valueExpression }, index) => {
      const isMissing = valueExpression.trim() === ''
      const field = `spec.auditAnnotations[${index}].valueExpression`
      const expression = isMissing ? undefined : compile(field, valueExpression, 'annotation')
      return expression ? [{ key, expression }] : []
    })
    this.#names = names
    this.faults = faults
  }

  /** Which validations the request breaks, in their order, and what its audit line is to have. */
  judge(input: PolicyInput, authorizer: PolicyAuthorizer): Judgement {
    const evaluation = new PolicyEvaluation(this.#names, input, authorizer)
    const applies = this.#applies(evaluation)
    if (typeof applies !== 'boolean') return this.#unjudged(applies)
    if (!applies) return nothing
    const violations = this.#validations.flatMap((validation, index) => this.#judged(validation, index, evaluation))
    const annotations: Array<readonly [string, string]> = []
    for (const { key, expression } of this.#annotations) {
      try {
        const value = evaluation.evaluate(expression)
        const text = typeof value === 'string' ? value.trim() : ''
        if (text !== '') annotations.push([key, text.slice(0, longestAnnotation)])
      } catch (error) {
        violations.push(...this.#unjudged(errorIn(expression, error)).violations)
      }
    }
    return { violations, annotations }
  }

  #judged(validation: Validation, index: number, evaluation: PolicyEvaluation): readonly Violation[] {
    const { expression, reason } = validation
    try {
      if (evaluation.evaluate(expression) === true) return []
    } catch (error) {
      return this.#unjudged(errorIn(expression, error), index).violations
    }
    return [{ message: messageOf(validation, evaluation), reason, index }]
  }

  /** What cannot be judged is refused, unless the policy says otherwise. */
  #unjudged(message: string, index = 0): Judgement {
    if (this.policy.spec.failurePolicy === 'Ignore') return nothing
    return { violations: [{ message, reason: undefined, index }], annotations: [] }
  }

  /**
   * Whether all conditions hold, or why that cannot be said. One that does not counts more than one that cannot be
   * computed.
   */
  #applies(evaluation: PolicyEvaluation): boolean | string {
    let problem: string | undefined
    for (const condition of this.#conditions) {
      try {
        if (evaluation.evaluate(condition) !== true) return false
      } catch (error) {
        problem ??= evaluationProblem(error)
      }
    }
    return problem ?? true
  }
}

function errorIn({ source }: PolicyExpression, error: unknown): string {
  return `expression '${source}' resulted in error: ${evaluationProblem(error)}`
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
