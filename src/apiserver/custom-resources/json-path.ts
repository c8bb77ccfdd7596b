import { isJsonObject } from '../../resources/json-value.ts'

type Step = (value: unknown) => readonly unknown[]
type Operand = (item: unknown) => unknown

const mostResults = 10_000
/** The most values that are looked at for one answer. */
const mostVisits = 200_000
const longestPath = 1_024

/**
 * Kubernetes' dialect of JSONPath, as printer columns use it: fields, items, slices, wildcards, descent and filters.
 */
export class JsonPath {
  readonly #steps: readonly Step[]

  /** Throws SyntaxError. */
  constructor(source: string) {
    if (source.length > longestPath) throw new SyntaxError(`longer than ${longestPath} characters`)
    this.#steps = new PathParser(source).parse()
  }

  /** Stops at its bound with what it has found: mostly the first value is all that is wanted. */
  find(value: unknown): readonly unknown[] {
    let found: readonly unknown[] = [value]
    let visits = 0
    for (const step of this.#steps) {
      const next: unknown[] = []
      for (const one of found) {
        visits += 1 + (Array.isArray(one) ? one.length : 0)
        if (visits > mostVisits || next.length >= mostResults) break
        for (const inner of step(one)) if (next.push(inner) >= mostResults) break
      }
      found = next
    }
    return found
  }
}

const field =
  (name: string): Step =>
  (value) =>
    isJsonObject(value) && Object.hasOwn(value, name) ? [value[name]] : []

const everything: Step = (value) => (typeof value === 'object' && value !== null ? Object.values(value) : [])

const item =
  (index: number): Step =>
  (value) => {
    const found: unknown = Array.isArray(value) ? value.at(index) : undefined
    return found === undefined ? [] : [found]
  }

const slice =
  (from: number | undefined, to: number | undefined, by: number): Step =>
  (value) =>
    Array.isArray(value) ? value.slice(from, to).filter((_one, index) => index % by === 0) : []

/** The value and everything in it, outer values first. */
function descend(value: unknown): readonly unknown[] {
  const found: unknown[] = []
  const pending = [value]
  while (pending.length > 0 && found.length < mostResults) {
    const one = pending.pop()
    found.push(one)
    for (const inner of everything(one).toReversed()) pending.push(inner)
  }
  return found
}

class PathParser {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  parse(): Step[] {
    const steps: Step[] = []
    while (this.#at < this.#source.length) {
      if (this.#take('..')) {
        steps.push(descend)
        if (!this.#sees('[')) steps.push(this.#name())
      } else if (this.#take('.')) {
        // `.` alone is the whole value, and `.[0]` an item of it.
        if (this.#at < this.#source.length && !this.#sees('[')) steps.push(this.#name())
      } else if (this.#take('[')) steps.push(this.#bracket())
      else if (this.#at === 0 && (this.#take('@') || this.#take('$'))) continue
      else throw new SyntaxError(`unexpected ${JSON.stringify(this.#source[this.#at])}`)
    }
    return steps
  }

  #name(): Step {
    const match = /^(?:\\.|[^\\.[\]\s(),=<>!?'"])+/.exec(this.#source.slice(this.#at))
    if (!match) throw new SyntaxError('a field name is missing')
    this.#at += match[0].length
    return match[0] === '*' ? everything : field(match[0].replaceAll(/\\(.)/g, '$1'))
  }

  #bracket(): Step {
    const end = this.#closing()
    const inside = this.#source.slice(this.#at, end).trim()
    this.#at = end + 1
    const filter = /^\?\s*\((.*)\)$/s.exec(inside)
    if (filter) return filterStep(filter[1] ?? '')
    const choices = inside.split(',').map((part) => choice(part.trim()))
    const [only] = choices
    return only && choices.length === 1 ? only : (value) => choices.flatMap((one) => one(value))
  }

  /** The position of the closing bracket; brackets within quotes do not count. */
  #closing(): number {
    let depth = 1
    let quote = ''
    for (let at = this.#at; at < this.#source.length; at++) {
      const character = this.#source[at] ?? ''
      if (quote !== '') {
        if (character === '\\') at++
        else if (character === quote) quote = ''
      } else if (character === '"' || character === "'") quote = character
      else if (character === '[') depth++
      else if (character === ']' && --depth === 0) return at
    }
    throw new SyntaxError('unterminated array')
  }

  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at)
  }

  #take(text: string): boolean {
    if (!this.#sees(text)) return false
    this.#at += text.length
    return true
  }
}

function choice(text: string): Step {
  if (text === '*') return everything
  const quoted = /^(['"])(.*)\1$/s.exec(text)
  if (quoted) return field(quoted[2] ?? '')
  if (/^-?\d{1,9}$/.test(text)) return item(Number(text))
  const range = /^(-?\d{1,9})?:(-?\d{1,9})?(?::(\d{1,9}))?$/.exec(text)
  if (!range) throw new SyntaxError(`invalid array index ${text}`)
  const bound = (part: string | undefined) => (part === undefined ? undefined : Number(part))
  return slice(bound(range[1]), bound(range[2]), Math.max(Number(range[3] ?? 1), 1))
}

function filterStep(condition: string): Step {
  const text = condition.trim()
  const operator = /==|!=|<=|>=|<|>/.exec(text.slice(1))
  const after = operator ? 1 + operator.index + operator[0].length : text.length
  const isComparison = operator !== null && text.slice(after).trim() !== ''
  const left = operand(isComparison ? text.slice(0, 1 + operator.index) : condition)
  const right = isComparison ? operand(text.slice(after)) : undefined
  const holds = (one: unknown) =>
    right ? compare(left(one), operator?.[0] ?? '', right(one)) : left(one) !== undefined
  return (value) => (Array.isArray(value) ? value.filter(holds) : [])
}

function operand(source: string): Operand {
  const text = source.trim()
  const quoted = /^(['"])(.*)\1$/s.exec(text)
  if (quoted) return () => quoted[2]
  if (/^-?\d+(\.\d+)?$/.test(text)) return () => Number(text)
  if (text === 'true' || text === 'false') return () => text === 'true'
  if (!text.startsWith('@')) throw new SyntaxError(`invalid filter ${text}`)
  const path = new JsonPath(text)
  return (one) => path.find(one)[0]
}

function compare(left: unknown, operator: string, right: unknown): boolean {
  if (operator === '==') return left === right
  if (operator === '!=') return left !== right
  if (typeof left === 'number' && typeof right === 'number') return ordered(left, operator, right)
  return typeof left === 'string' && typeof right === 'string' && ordered(left, operator, right)
}

function ordered<T extends string | number>(left: T, operator: string, right: T): boolean {
  switch (operator) {
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    default:
      return left >= right
  }
}
