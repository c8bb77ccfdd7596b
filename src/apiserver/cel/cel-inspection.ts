import type { ASTNode, SourceRange } from '@marcbachmann/cel-js'
import { failedAt } from './cel-errors.ts'
import { expression, foreign, renamed } from './cel-functions.ts'

/** What a rule contains that matters for checking it. */
export interface Inspection {
  readonly names: ReadonlySet<string>
  /** Each `has(…)`, and the field it is about. */
  readonly presence: ReadonlyArray<{ readonly call: SourceRange; readonly field: SourceRange }>
}

/**
 * Goes through a rule: calls Kubernetes' functions in place of the library's, and refuses those that only the library
 * has.
 */
export function inspect(rule: ASTNode, source: string): Inspection {
  const names = new Set<string>()
  const presence: Array<{ call: SourceRange; field: SourceRange }> = []
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

interface Findings {
  readonly names: Set<string>
  readonly presence: Array<{ call: SourceRange; field: SourceRange }>
}

function inspectNode(node: ASTNode, source: string, findings: Findings): void {
  if (node.op === 'id') findings.names.add(node.args)
  if (node.op === 'call' && node.args[0] === 'has' && node.args[1][0]) {
    findings.presence.push({ call: node.range, field: node.args[1][0].range })
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
