import type { ASTNode } from '@marcbachmann/cel-js'

/** The size of the values a rule looks at: the most items of any list or map, and everything counted together. */
export interface InputSize {
  readonly items: number
  readonly weight: number
}

/** The upper bound for a part of a rule: items to iterate over, everything in it, and the steps to compute it. */
export interface Bound {
  readonly items: number
  /** For items of a list this is the average, because a loop over all of them meets the whole list once. */
  readonly weight: number
  /** The most that everything in it can come to; for items of a list, in the largest item. */
  readonly most: number
  readonly cost: number
}

const comprehensions = new Set(['all', 'exists', 'exists_one', 'existsOne', 'map', 'filter'])
/** These functions can produce results as large as the product of their arguments. */
const multiplying = new Set(['replace', 'join', 'format'])
const searching = new Set(['matches', 'kubernetesMatches', 'find', 'findAll'])

/**
 * The most steps that evaluating a rule over values of this size can take. Every rule terminates, but nested loops can
 * take very long: a rule that would is not begun.
 */
export function mostSteps(rule: ASTNode, size: InputSize): number {
  return boundOf(rule, size, new Map()).cost
}

/** The same for a part of a larger rule: `variables` are the bounds of values that are no input. */
export function boundOf(node: ASTNode, size: InputSize, variables: ReadonlyMap<string, Bound> = new Map()): Bound {
  const of = (inner: ASTNode) => boundOf(inner, size, variables)
  switch (node.op) {
    case 'value':
      return literalBound(node.args)
    case 'id':
      return { ...(variables.get(node.args) ?? { ...size, most: size.weight }), cost: 1 }
    case '.':
    case '.?':
      return plus(partOf(of(node.args[0]), size), 1)
    case '[]':
    case '[?]':
      return plus(partOf(of(node.args[0]), size), 1 + of(node.args[1]).cost)
    case 'list':
      return { ...sum(node.args.map(of), node.args.length), items: Math.max(node.args.length, 1) }
    case 'map':
      return sum(
        node.args.flatMap(([key, value]) => [of(key), of(value)]),
        node.args.length,
      )
    case '?:':
    case '||':
    case '&&':
      return largest(node.args.map(of))
    case '!_':
    case '-_':
      return plus(of(node.args), 1)
    case 'call':
      return callBound(node.args[0], node.args[1].map(of))
    case 'rcall':
      return methodBound(node.args[0], node.args[1], node.args[2], size, variables)
    case '+': {
      // Concatenation copies every item.
      const both = sum(node.args.map(of), 0)
      return plus(both, both.items)
    }
    default: {
      const [left, right] = node.args.map(of)
      const both = (left?.cost ?? 0) + (right?.cost ?? 0)
      return {
        ...scalar,
        cost: both + Math.min(left?.weight ?? 1, right?.weight ?? 1) + membership(node.op, right),
      }
    }
  }
}

function methodBound(
  name: string,
  receiver: ASTNode,
  args: readonly ASTNode[],
  size: InputSize,
  variables: ReadonlyMap<string, Bound>,
): Bound {
  const on = boundOf(receiver, size, variables)
  const [variable, ...rest] = args
  if (comprehensions.has(name) && variable?.op === 'id') {
    const inside = new Map(variables).set(variable.args, itemOf(on, size))
    const body = sum(
      rest.map((part) => boundOf(part, size, inside)),
      0,
    )
    const cost = on.cost + on.items * (1 + body.cost)
    if (name === 'filter') return { ...on, cost }
    const weight = on.items * (1 + body.weight)
    return name === 'map' ? { items: on.items, weight, most: on.items * (1 + body.most), cost } : { ...scalar, cost }
  }
  return callBound(name, [on, ...args.map((argument) => boundOf(argument, size, variables))])
}

function callBound(name: string, args: readonly Bound[]): Bound {
  const { weight, most, cost } = sum(args, 1)
  const product = args.reduce((all, one) => all * Math.max(one.most, 1), 1)
  if (multiplying.has(name)) return { items: product, weight: product, most: product, cost: cost + product }
  // The result of a function is no larger than its arguments.
  return { items: most, weight, most, cost: cost + (searching.has(name) ? searchCost(args) : weight) }
}

/** A pattern is matched along the whole text. */
function searchCost([text, ...others]: readonly Bound[]): number {
  return others.reduce((all, { most }) => all * Math.max(most, 1), text?.weight ?? 1)
}

/** A field or an entry: no list inside it is longer than the longest of the input. */
function partOf({ weight, most, cost }: Bound, size: InputSize): Bound {
  return { items: most <= size.weight ? Math.min(size.items, most) : most, weight, most, cost }
}

function itemOf(list: Bound, size: InputSize): Bound {
  return { ...partOf(list, size), weight: Math.max(list.weight / Math.max(list.items, 1), 1) }
}

const scalar = { items: 1, weight: 1, most: 1 }

function membership(op: string, right: Bound | undefined): number {
  return op === 'in' ? (right?.weight ?? 1) : 0
}

function literalBound(value: unknown): Bound {
  const length = typeof value === 'string' || value instanceof Uint8Array ? value.length + 1 : 1
  return { items: length, weight: length, most: length, cost: 1 }
}

function plus(bound: Bound, cost: number): Bound {
  return { ...bound, cost: bound.cost + cost }
}

function sum(bounds: readonly Bound[], own: number): Bound {
  const total = { items: own, weight: own, most: own, cost: own + 1 }
  for (const { items, weight, most, cost } of bounds) {
    total.most += most
    total.items += items
    total.weight += weight
    total.cost += cost
  }
  return total
}

function largest(bounds: readonly Bound[]): Bound {
  return {
    items: Math.max(...bounds.map(({ items }) => items)),
    weight: Math.max(...bounds.map(({ weight }) => weight)),
    most: Math.max(...bounds.map(({ most }) => most)),
    cost: bounds.reduce((all, { cost }) => all + cost, 1),
  }
}

/** More than any bound of steps allows. */
const immeasurable: InputSize = { items: 1e9, weight: 1e12 }

/** How much may be looked at, and what was: a value that is in another several times is measured once. */
export interface Measuring {
  left: number
  readonly known: Map<object, InputSize>
}

/**
 * Measures a JSON value, or one that the language made of such. What is in a value several times counts as often: what
 * an expression made is therefore measured with bounds.
 */
export function sizeOf(value: unknown, measuring?: Measuring): InputSize {
  if (typeof value === 'string') return { items: 1, weight: value.length + 1 }
  if (typeof value !== 'object' || value === null) return { items: 1, weight: 1 }
  const known = measuring?.known.get(value)
  if (known) return known
  if (measuring && --measuring.left < 0) return immeasurable
  const size = sizeOfParts(value, measuring)
  measuring?.known.set(value, size)
  return size
}

function sizeOfParts(value: object, measuring: Measuring | undefined): InputSize {
  const parts: unknown[] = value instanceof Map ? [...value.values()] : Object.values(value)
  let items = Math.max(parts.length, 1)
  let weight = 1 + parts.length
  for (const part of parts) {
    const size = sizeOf(part, measuring)
    items = Math.max(items, size.items)
    weight += size.weight
  }
  return { items, weight }
}
