import type { Environment } from '@marcbachmann/cel-js'
import { type Bound, type InputSize, boundOf, sizeOf } from '../cel/cel-cost.ts'
import { CelError } from '../cel/cel-errors.ts'
import { type Checked, compileChecked, sharedEnvironment } from '../cel/cel-program.ts'
import { freeValue } from '../cel/cel-types.ts'
import { evaluationProblem, mostStepsOfObject, mostStepsOfRule } from '../cel/schema-rules.ts'

/** What the expressions of policies are about, as JSON. */
export interface PolicyInput {
  /** Null for a deletion. */
  readonly object: unknown
  /** Null for a creation. */
  readonly oldObject: unknown
  readonly request: unknown
  /** Null where a binding names none. */
  readonly params: unknown
  /** Null for what is in no namespace. */
  readonly namespaceObject: unknown
}

export interface PolicyExpression {
  readonly source: string
  readonly compiled: Checked
}

interface PolicyVariable {
  readonly name: string
  readonly expression: PolicyExpression
}

const inputNames = ['object', 'oldObject', 'request', 'namespaceObject'] as const

/** The names that the expressions of one policy can use. Each variable sees those before it. */
export class PolicyNames {
  readonly #base: Environment
  readonly #variables: PolicyVariable[] = []
  #environment: Environment

  constructor(hasParams: boolean) {
    this.#base = sharedEnvironment().clone()
    for (const name of inputNames) this.#base.registerVariable(name, 'dyn')
    if (hasParams) this.#base.registerVariable('params', 'dyn')
    this.#environment = this.#withVariables()
  }

  get variables(): readonly PolicyVariable[] {
    return this.#variables
  }

  /** Throws CelError. */
  addVariable(name: string, source: string): void {
    const compiled = compileChecked(this.#environment, source)
    this.#variables.push({ name, expression: { source, compiled } })
    this.#environment = this.#withVariables()
  }

  /** Throws CelError. */
  compile(source: string, result: 'bool' | 'string'): PolicyExpression {
    const compiled = compileChecked(this.#environment, source)
    const { type } = compiled
    if (type !== result && type !== 'dyn') throw new CelError(`must evaluate to ${result} but got ${type}`)
    return { source, compiled }
  }

  #withVariables(): Environment {
    const environment = this.#base.clone()
    if (this.#variables.length === 0) return environment
    const fields = Object.fromEntries(this.#variables.map(({ name }) => [name, 'dyn']))
    environment.registerType('Variables', { ctor: Variables, fields })
    return environment.registerVariable('variables', 'Variables')
  }
}

class Variables {
  [name: string]: unknown
}

/** Evaluates the expressions of one policy about one request, within a number of steps that is known beforehand. */
export class PolicyEvaluation {
  readonly #size: InputSize
  readonly #bounds: ReadonlyMap<string, Bound>
  readonly #context: Record<string, unknown>
  #stepsLeft = mostStepsOfObject

  constructor({ variables }: PolicyNames, input: PolicyInput) {
    this.#size = sizeOf(input)
    this.#bounds = variableBounds(variables, this.#size)
    const given = Object.entries(input).map(([name, value]) => [name, freeValue(value ?? null)])
    this.#context = Object.fromEntries(given)
    this.#context['variables'] = this.#lazily(variables)
  }

  /** Throws what went wrong. */
  evaluate({ compiled }: PolicyExpression): unknown {
    const { cost } = boundOf(compiled.run.ast, this.#size, this.#bounds)
    const variables = compiled.inspected.names.has('variables') ? (this.#bounds.get('variables')?.cost ?? 0) : 0
    const steps = cost + variables
    this.#stepsLeft -= steps
    if (steps > mostStepsOfRule || this.#stepsLeft < 0) {
      this.#stepsLeft = -1
      throw new CelError('operation cancelled: actual cost limit exceeded')
    }
    return compiled.run(this.#context)
  }

  /** A variable is computed when it is first asked for, so that one that cannot be does no harm where it is not used. */
  #lazily(variables: readonly PolicyVariable[]): Variables {
    const values = new Variables()
    for (const { name, expression } of variables) {
      let known: { readonly value: unknown } | undefined
      const get = () => {
        known ??= { value: this.#compute(name, expression) }
        return known.value
      }
      Object.defineProperty(values, name, { enumerable: true, get })
    }
    return values
  }

  #compute(name: string, { compiled }: PolicyExpression): unknown {
    try {
      return compiled.run(this.#context)
    } catch (error) {
      throw new CelError(`composited variable "${name}" fails to evaluate: ${evaluationProblem(error)}`)
    }
  }
}

function variableBounds(variables: readonly PolicyVariable[], size: InputSize): ReadonlyMap<string, Bound> {
  let all: Bound = { items: 1, weight: 1, most: 1, cost: 0 }
  for (const { expression } of variables) {
    const { items, weight, most, cost } = boundOf(expression.compiled.run.ast, size, new Map([['variables', all]]))
    all = {
      items: Math.max(all.items, items),
      weight: all.weight + weight,
      most: all.most + most,
      cost: all.cost + cost,
    }
  }
  return new Map([['variables', all]])
}
