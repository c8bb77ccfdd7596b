import type { Environment } from '@marcbachmann/cel-js'
import { type Bound, type InputSize, boundOf, sizeOf } from '../cel/cel-cost.ts'
import { CelError } from '../cel/cel-errors.ts'
import { type Checked, compileChecked, sharedEnvironment } from '../cel/cel-program.ts'
import { freeValue } from '../cel/cel-types.ts'
import { evaluationProblem, mostStepsOfObject, mostStepsOfRule } from '../cel/schema-rules.ts'
import { type PolicyAuthorizer, registerAuthorizer } from './policy-authorizer.ts'

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

/** What an expression may evaluate to; `annotation` is a text or nothing. */
export type Wanted = 'bool' | 'string' | 'annotation'

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
  /** Messages are computed without asking anybody. */
  #withoutAuthorizer: Environment

  constructor(hasParams: boolean) {
    this.#base = sharedEnvironment().clone()
    for (const name of inputNames) this.#base.registerVariable(name, 'dyn')
    if (hasParams) this.#base.registerVariable('params', 'dyn')
    this.#withoutAuthorizer = this.#withVariables()
    this.#environment = registerAuthorizer(this.#withVariables())
  }

  get variables(): readonly PolicyVariable[] {
    return this.#variables
  }

  /** Throws CelError. */
  addVariable(name: string, source: string): void {
    const compiled = compileChecked(this.#environment, source)
    this.#variables.push({ name, expression: { source, compiled } })
    this.#withoutAuthorizer = this.#withVariables()
    this.#environment = registerAuthorizer(this.#withVariables())
  }

  /** Throws CelError. */
  compile(source: string, wanted: Wanted): PolicyExpression {
    const compiled = compileChecked(wanted === 'string' ? this.#withoutAuthorizer : this.#environment, source)
    const { type = 'dyn' } = compiled
    if (wanted === 'annotation') {
      if (type !== 'string' && type !== 'null')
        throw new CelError(`must evaluate to one of [string null_type] but got ${type}`)
    } else if (type !== wanted && type !== 'dyn') throw new CelError(`must evaluate to ${wanted} but got ${type}`)
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

type Settled = { readonly value: unknown; readonly size: InputSize } | { readonly problem: unknown }

/** Evaluates the expressions of one policy about one request, within a number of steps that is known beforehand. */
export class PolicyEvaluation {
  readonly #variables: readonly PolicyVariable[]
  readonly #size: InputSize
  readonly #bounds: Map<string, Bound>
  readonly #context: Record<string, unknown>
  readonly #settled = new Map<string, Settled>()
  #stepsLeft = mostStepsOfObject

  constructor({ variables }: PolicyNames, input: PolicyInput, authorizer: PolicyAuthorizer) {
    this.#variables = variables
    this.#size = sizeOf(input)
    const given = Object.entries(input)
    this.#bounds = new Map(given.map(([name, value]) => [name, boundFor([sizeOf(value)])]))
    this.#bounds.set('authorizer', boundFor([]))
    this.#context = Object.fromEntries(given.map(([name, value]) => [name, freeValue(value ?? null)]))
    this.#context['variables'] = this.#shown()
    this.#context['authorizer'] = authorizer
  }

  /** Throws what went wrong. */
  evaluate({ source, compiled }: PolicyExpression): unknown {
    const sizes = compiled.inspected.names.has('variables') ? this.#settleNamed(source) : []
    const bounds = new Map(this.#bounds).set('variables', boundFor(sizes))
    const { cost } = boundOf(compiled.run.ast, largest([this.#size, ...sizes]), bounds)
    this.#stepsLeft -= cost
    if (cost > mostStepsOfRule || this.#stepsLeft < 0) {
      this.#stepsLeft = -1
      throw new CelError('operation cancelled: actual cost limit exceeded')
    }
    return compiled.run(this.#context)
  }

  /**
   * Computes the variables that an expression may ask for, because their sizes tell how long it can take. One that
   * cannot be computed does no harm where it is not asked for.
   */
  #settleNamed(source: string): readonly InputSize[] {
    const words = new Set(source.match(/\w+/g))
    return this.#variables.flatMap((variable) => {
      const settled = words.has(variable.name) ? this.#settle(variable) : undefined
      return settled && 'value' in settled ? [settled.size] : []
    })
  }

  #settle({ name, expression }: PolicyVariable): Settled {
    const known = this.#settled.get(name)
    if (known) return known
    // One that names itself means an earlier one, which there is not: it was refused when it was compiled.
    this.#settled.set(name, { problem: new CelError(`variable "${name}" is being computed`) })
    const settled = this.#compute(name, expression)
    this.#settled.set(name, settled)
    return settled
  }

  #compute(name: string, expression: PolicyExpression): Settled {
    try {
      const value = this.evaluate(expression)
      const measuring = { left: this.#stepsLeft, known: new Map() }
      const size = sizeOf(value, measuring)
      this.#stepsLeft = Math.max(measuring.left, 0)
      return { value, size }
    } catch (error) {
      return { problem: new CelError(`composited variable "${name}" fails to evaluate: ${evaluationProblem(error)}`) }
    }
  }

  #shown(): Variables {
    const values = new Variables()
    for (const { name } of this.#variables) {
      const get = () => {
        const settled = this.#settled.get(name)
        if (settled && 'value' in settled) return settled.value
        throw settled?.problem ?? new CelError(`variable "${name}" was not computed`)
      }
      Object.defineProperty(values, name, { enumerable: true, get })
    }
    return values
  }
}

function boundFor(sizes: readonly InputSize[]): Bound {
  const weight = sizes.reduce((sum, size) => sum + size.weight, 1)
  return { items: largest(sizes).items, weight, most: weight, cost: 0 }
}

function largest(sizes: readonly InputSize[]): InputSize {
  return {
    items: sizes.reduce((most, { items }) => Math.max(most, items), 1),
    weight: sizes.reduce((most, { weight }) => Math.max(most, weight), 1),
  }
}
