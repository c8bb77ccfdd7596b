import type { ASTNode, SourceRange } from '@marcbachmann/cel-js'
import { failedAt } from './cel-errors.ts'
import { expression, foreign, renamed } from './cel-functions.ts'

/** What a rule contains that matters for checking it. */
export interface Inspection {
  readonly names: ReadonlySet<string>
  readonly presence: readonly Presence[]
}

/** A `has(…)`, and the field it is about. */
interface Presence {
  readonly call: SourceRange
  readonly field: SourceRange
  /** What the field is asked of, where that is no plain chain of names (`list[0]`, `f(x)`), and the field's name. */
  readonly computed?: { readonly receiver: SourceRange; readonly name: string } | undefined
}

/**
 * Goes through a rule: calls Kubernetes' functions in place of the library's, and refuses those that only the library
 * has.
 */
export function inspect(rule: ASTNode, source: string): Inspection {
  const names = new Set<string>()
  const presence: Presence[] = []
  inspectNode(rule, source, { names, presence })
  return { names, presence }
}

/** The same rule with each `has(a.b)` replaced by `a.b`, so that type-checking it checks that the field exists. */
export function askedAbout(source: string, presence: Inspection['presence']): string {
  const lastFirst = presence.toSorted((one, other) => other.call.start - one.call.start)
  return lastFirst.reduce(
    (text, { call, field }) =>
      `${text.slice(0, call.start)}(dyn(${source.slice(field.start, field.end)}) == null)${text.slice(call.end)}`,
    source,
  )
}

/**
 * The library takes in `has()` only a chain of names. What asks a computed value is put so that it has a name:
 * `has(list[0].x)` as `[list[0]].exists(it, has(it.x))`. One of them at a time, an inner one before the one around it.
 */
export function withNamedReceiver(source: string, presence: Inspection['presence'], name: string): string | undefined {
  const computed = presence.filter((one) => one.computed !== undefined)
  const [{ call, computed: of } = {}] = computed.toSorted((one, other) => lengthOf(one.call) - lengthOf(other.call))
  if (!call || !of) return undefined
  const receiver = source.slice(of.receiver.start, of.receiver.end)
  const named = `[${receiver}].exists(${name}, has(${name}.${of.name}))`
  return `${source.slice(0, call.start)}${named}${source.slice(call.end)}`
}

function lengthOf({ start, end }: SourceRange): number {
  return end - start
}

interface Findings {
  readonly names: Set<string>
  readonly presence: Array<{ call: SourceRange; field: SourceRange }>
}

function inspectNode(node: ASTNode, source: string, findings: Findings): void {
  if (node.op === 'id') findings.names.add(node.args)
  if (node.op === 'call' && node.args[0] === 'has' && node.args[1][0]) {
    findings.presence.push(presenceOf(node.range, node.args[1][0]))
  }
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args
    if (node.op === 'rcall' && foreign.has(name))
      throw failedAt(source, node.pos, `undeclared reference to '${name}' (in container '')`)
    checkPattern(node, name, source)
    node.args[0] = Object.hasOwn(renamed, name) ? (renamed[name] ?? name) : name
  }
  for (const inner of innerNodes(node)) inspectNode(inner, source, findings)
}

function presenceOf(call: SourceRange, asked: ASTNode): Presence {
  const field = asked.range
  if (asked.op !== '.' || isChain(asked.args[0])) return { call, field }
  const [receiver, name] = asked.args
  return { call, field, computed: { receiver: receiver.range, name } }
}

function isChain(node: ASTNode): boolean {
  return node.op === 'id' || ((node.op === '.' || node.op === '.?') && isChain(node.args[0]))
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
