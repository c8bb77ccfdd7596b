import { Environment, Optional } from '@marcbachmann/cel-js'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { type InputSize, mostSteps } from './cel-cost.ts'
import { CelError, compilationFailed } from './cel-errors.ts'
import { registerKubernetesFunctions } from './cel-functions.ts'
import { type Inspection, askedAbout, inspect, withNamedReceiver } from './cel-inspection.ts'
import { type CelType, TypeDeclarations } from './cel-types.ts'

/** Each is put into other words by itself. */
const mostComputedReceivers = 50
const receiverName = '__asked__'

let shared: Environment | undefined

/** The language with Kubernetes' functions, to be cloned. */
export function sharedEnvironment(): Environment {
  if (shared) return shared
  const limits = { maxAstNodes: 5000, maxDepth: 100, maxListElements: 1000, maxMapEntries: 1000, maxCallArguments: 32 }
  shared = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits })
  registerKubernetesFunctions(shared)
  return shared
}

/** What all rules at one place of a schema share: the type of `self` and `oldSelf`. */
export class RuleContext {
  readonly #self: CelType
  readonly #environment: Environment
  readonly #optional: Environment

  constructor(schema: StructuralSchema, isResource: boolean) {
    const environment = sharedEnvironment().clone()
    this.#self = new TypeDeclarations(environment).of(schema, isResource)
    environment.registerVariable('self', this.#self.name)
    this.#environment = environment.clone().registerVariable('oldSelf', this.#self.name)
    this.#optional = environment.clone().registerVariable('oldSelf', `optional<${this.#self.name}>`)
  }

  value(json: unknown): unknown {
    return this.#self.convert(json)
  }

  /** Throws CelError. */
  compile(source: string, result: 'bool' | 'string', optionalOldSelf = false): CelProgram {
    return new CelProgram(optionalOldSelf ? this.#optional : this.#environment, source, result, optionalOldSelf)
  }
}

export class CelProgram {
  readonly usesOldSelf: boolean
  readonly #run: ReturnType<Environment['parse']>
  readonly #optionalOldSelf: boolean

  constructor(environment: Environment, source: string, result: 'bool' | 'string', optionalOldSelf: boolean) {
    const { run, type, inspected } = compileChecked(environment, source)
    if (type !== result && type !== 'dyn') throw new CelError(wrongResult[result])
    this.#run = run
    this.#optionalOldSelf = optionalOldSelf
    this.usesOldSelf = inspected.names.has('oldSelf')
  }

  steps(size: InputSize): number {
    return mostSteps(this.#run.ast, size)
  }

  /** Throws what went wrong. `oldSelf` is undefined when there is none. */
  evaluate(self: unknown, oldSelf: unknown): unknown {
    if (!this.#optionalOldSelf) return this.#run({ self, oldSelf })
    return this.#run({ self, oldSelf: oldSelf === undefined ? Optional.none() : Optional.of(oldSelf) })
  }
}

const wrongResult = {
  bool: 'cel expression must evaluate to a bool',
  string: 'must evaluate to a string',
}

export interface Checked {
  readonly run: ReturnType<Environment['parse']>
  readonly type: string | undefined
  readonly inspected: Inspection
}

/** Throws CelError. */
export function compileChecked(environment: Environment, written: string): Checked {
  const source = withoutComputedReceivers(environment, written)
  const whole = checked(environment, source)
  const fields = askedAbout(source, whole.inspected.presence)
  // The library accepts any field in `has()`; a rule about a field that does not exist would never complain.
  if (fields !== source) checked(environment, fields)
  return whole
}

function withoutComputedReceivers(environment: Environment, written: string): string {
  let source = written
  for (let count = 0; count < mostComputedReceivers; count += 1) {
    if (!source.includes('has(')) return source
    const { presence } = inspect(parsed(environment, source).ast, source)
    const named = withNamedReceiver(source, presence, `${receiverName}${count}`)
    if (named === undefined) return source
    source = named
  }
  throw new CelError(`more than ${mostComputedReceivers} times has() of something that is no chain of names`)
}

function checked(environment: Environment, source: string): Checked {
  const run = parsed(environment, source)
  const inspected = inspect(run.ast, source)
  const { valid, type, error } = run.check()
  if (!valid) throw compilationFailed(source, error)
  return { run, type, inspected }
}

function parsed(environment: Environment, source: string): ReturnType<Environment['parse']> {
  try {
    return environment.parse(source)
  } catch (error) {
    throw compilationFailed(source, error)
  }
}
