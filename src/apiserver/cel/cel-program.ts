import { type ASTNode, Environment, Optional } from '@marcbachmann/cel-js'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { type InputSize, mostSteps } from './cel-cost.ts'
import { expression, foreign, registerKubernetesFunctions, renamed } from './cel-functions.ts'
import { type CelType, TypeDeclarations } from './cel-types.ts'

/** Why a rule cannot be used, as Kubernetes says it. */
export class CelError extends Error {}

let shared: Environment | undefined

function sharedEnvironment(): Environment {
  if (shared) return shared
  const limits = { maxAstNodes: 5000, maxDepth: 100, maxListElements: 1000, maxMapEntries: 1000, maxCallArguments: 32 }
  shared = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits })
  registerKubernetesFunctions(shared)
  return shared
}

/** What rules of one place of a schema share: the type of `self`, and of `oldSelf` with it. */
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
    this.#run = parsed(environment, source)
    this.#optionalOldSelf = optionalOldSelf
    const names = new Set<string>()
    inspect(this.#run.ast, source, names)
    this.usesOldSelf = names.has('oldSelf')
    const { valid, type, error } = this.#run.check()
    if (!valid) throw compilationFailed(source, error)
    if (type !== result && type !== 'dyn') throw new CelError(wrongResult[result])
  }

  steps(size: InputSize): number {
    return mostSteps(this.#run.ast, size)
  }

  /** Throws what went wrong on the way. `oldSelf` undefined: there is none. */
  evaluate(self: unknown, oldSelf: unknown): unknown {
    if (!this.#optionalOldSelf) return this.#run({ self, oldSelf })
    return this.#run({ self, oldSelf: oldSelf === undefined ? Optional.none() : Optional.of(oldSelf) })
  }
}

const wrongResult = {
  bool: 'cel expression must evaluate to a bool',
  string: 'must evaluate to a string',
}

function parsed(environment: Environment, source: string): ReturnType<Environment['parse']> {
  try {
    return environment.parse(source)
  } catch (error) {
    throw compilationFailed(source, error)
  }
}

function compilationFailed(source: string, error: unknown): CelError {
  const summary = property(error, 'summary')
  const start = Number(property(property(error, 'range'), 'start') ?? 0)
  const why = typeof summary === 'string' ? summary : error instanceof Error ? error.message : 'unknown'
  return failedAt(source, start, inKubernetesWords(why))
}

/** The library has words of its own for what everybody meets. */
function inKubernetesWords(summary: string): string {
  return summary
    .replace(/^No such key: (.*)$/, "undefined field '$1'")
    .replace(/^Unknown variable: (.*)$/, "undeclared reference to '$1' (in container '')")
    .replace(/^no such overload: (.+) (\S+) (.+)$/, "found no matching overload for '_$2_' applied to '($1, $3)'")
    .replace(
      /^found no matching overload for '(?:.*\.)?(\w+)\(.*\)'$/,
      "undeclared reference or no matching overload for '$1' (in container '')",
    )
}

function failedAt(source: string, start: number, why: string): CelError {
  const lines = source.slice(0, start).split('\n')
  const column = lines.at(-1)?.length ?? 0
  const line = source.split('\n')[lines.length - 1] ?? ''
  const marked = ` | ${line.slice(0, 1000)}\n | ${'.'.repeat(Math.min(column, 1000))}^`
  return new CelError(`compilation failed: ERROR: <input>:${lines.length}:${column + 1}: ${why}\n${marked}`)
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** Collects the names a rule uses, calls Kubernetes' functions in place of the library's, and refuses what only the latter has. */
function inspect(node: ASTNode, source: string, names: Set<string>): void {
  if (node.op === 'id') names.add(node.args)
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args
    if (node.op === 'rcall' && foreign.has(name))
      throw failedAt(source, node.pos, `undeclared reference to '${name}' (in container '')`)
    checkPattern(node, name, source)
    node.args[0] = Object.hasOwn(renamed, name) ? (renamed[name] ?? name) : name
  }
  for (const inner of innerNodes(node)) inspect(inner, source, names)
}

function checkPattern(node: Extract<ASTNode, { op: 'call' | 'rcall' }>, name: string, source: string): void {
  if (name !== 'matches' && name !== 'find' && name !== 'findAll') return
  const pattern = node.op === 'rcall' ? node.args[2][0] : node.args[1][1]
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return
  try {
    expression(pattern.args)
  } catch (error) {
    const why = error instanceof Error ? `: ${error.message}` : ''
    throw failedAt(source, pattern.start, `invalid ${name} argument${why}`)
  }
}

function innerNodes(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return []
    case '.':
    case '.?':
      return [node.args[0]]
    case 'call':
      return node.args[1]
    case 'rcall':
      return [node.args[1], ...node.args[2]]
    case 'map':
      return node.args.flat()
    case '!_':
    case '-_':
      return [node.args]
    default:
      return node.args
  }
}
