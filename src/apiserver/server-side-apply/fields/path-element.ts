import { isJsonObject, type JsonObject } from '../../../resources/json-value.ts'
import { type FieldSet, type MutableFieldSet, leaf } from './field-set.ts'

const mostHeld = 4096
const longestHeld = 64
/**
 * After this many other names, the remembered ones are forgotten: an object with very many names is not worth
 * remembering.
 */
const othersBeforeForgetting = 100_000
const heldElements = new Map<string, string>()
let others = 0

/**
 * The element for a field name. Remembered, because nearly all names come again, and a newly concatenated string costs
 * several times as much as a key of an object as one that has been a key before.
 */
export function fieldElement(name: string): string {
  const held = heldElements.get(name)
  if (held !== undefined) return held
  if (name.length > longestHeld || isFull()) return `f:${name}`
  const [element = ''] = Object.keys({ [`f:${name}`]: leaf })
  heldElements.set(name, element)
  return element
}

function isFull(): boolean {
  if (heldElements.size < mostHeld) return false
  others += 1
  if (others < othersBeforeForgetting) return true
  others = 0
  heldElements.clear()
  return false
}

/** The element for an item of a set: its value. */
export function valueElement(item: unknown): string {
  return `v:${JSON.stringify(item)}`
}

/** The element for an item of a map-like list: its key fields, sorted by name. */
export function keyElement(key: ReadonlyArray<readonly [string, unknown]>): string {
  const parts = key.toSorted(byName).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
  return `k:{${parts.join(',')}}`
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1
}

/** An element as messages show it: `.spec`, `[name="main"]`, `[="x"]`, `[0]`. */
export function shownElement(element: string): string {
  const rest = element.slice(2)
  switch (element[0]) {
    case 'f':
      return `.${rest}`
    case 'k': {
      const key = parsed(rest)
      if (!isJsonObject(key)) return `[${rest}]`
      const parts = Object.entries(key).map(([name, value]) => `${name}=${shownValue(value)}`)
      return `[${parts.join(',')}]`
    }
    case 'v':
      return `[=${shownValue(parsed(rest))}]`
    default:
      return `[${rest}]`
  }
}

export function shownPath(path: readonly string[]): string {
  return path.map(shownElement).join('')
}

export function shownValue(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

const kinds = 'fkvi'

/** Kubernetes' order: fields by name, then keys and values by content, then indexes. */
export function compareElements(one: string, other: string): number {
  const kind = kinds.indexOf(one[0] ?? '') - kinds.indexOf(other[0] ?? '')
  if (kind !== 0 || one === other) return kind
  if (one.startsWith('f:')) return one < other ? -1 : 1
  return compareValues(parsed(one.slice(2)), parsed(other.slice(2)))
}

/** Numbers before strings before booleans; objects field by field. */
function compareValues(one: unknown, other: unknown): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  if (typeof one === 'string' && typeof other === 'string') return one < other ? -1 : one > other ? 1 : 0
  if (isJsonObject(one) && isJsonObject(other)) return compareKeys(one, other)
  return rank(one) - rank(other) || Number(one) - Number(other)
}

function compareKeys(one: JsonObject, other: JsonObject): number {
  const left = Object.entries(one)
  const right = Object.entries(other)
  for (const [index, [name, value]] of left.entries()) {
    const [otherName, otherValue] = right[index] ?? ['', undefined]
    if (index >= right.length) return 1
    if (name !== otherName) return name < otherName ? -1 : 1
    const order = compareValues(value, otherValue)
    if (order !== 0) return order
  }
  return left.length - right.length
}

function rank(value: unknown): number {
  return ['number', 'string', 'boolean'].indexOf(typeof value)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const deepest = 64

/** Reads a field set that a client sent, with its elements in our own notation. `undefined`: it is not a field set. */
export function readFieldSet(input: unknown, depth = 0): FieldSet | undefined {
  if (!isJsonObject(input) || depth > deepest) return undefined
  const set: MutableFieldSet = {}
  for (const [element, below] of Object.entries(input)) {
    if (element === '.') {
      set['.'] = leaf
      continue
    }
    const own = readElement(element)
    // Unknown kinds of elements are ignored, as in Kubernetes.
    if (own === 'unknown') continue
    const inner = own === undefined ? undefined : readFieldSet(below, depth + 1)
    if (own === undefined || inner === undefined) return undefined
    set[own] = inner
  }
  return set
}

function readElement(element: string): string | undefined {
  if (element[1] !== ':') return undefined
  const rest = element.slice(2)
  switch (element[0]) {
    case 'f':
      return element
    case 'i':
      return /^-?\d{1,9}$/.test(rest) ? `i:${Number(rest)}` : undefined
    case 'k':
    case 'v': {
      const value = parsedOrNothing(rest)
      if (value === undefined) return undefined
      if (element.startsWith('v')) return valueElement(value)
      return isJsonObject(value) ? keyElement(Object.entries(value)) : undefined
    }
    default:
      return 'unknown'
  }
}

function parsedOrNothing(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
