import type { Environment } from '@marcbachmann/cel-js'
import { RegularExpression } from '../regular-expression/regular-expression.ts'
import { equalValues } from './cel-equality.ts'
import { formatText } from './cel-format.ts'
import { Quantity } from './cel-quantity.ts'
import { isUrl, parseUrl } from './cel-url.ts'

type Ordered = string | number | bigint | boolean

const sync = { async: false }
const ordered = [
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
]

/** Names used here for functions whose own name means something else in the library. */
export const renamed: Readonly<Record<string, string>> = {
  matches: 'kubernetesMatches',
  lowerAscii: 'kubernetesLowerAscii',
  upperAscii: 'kubernetesUpperAscii',
}

/** Functions of the library that Kubernetes does not have: a rule that uses one would be refused elsewhere. */
export const foreign: ReadonlySet<string> = new Set(['json', 'hex', 'base64', 'at', 'string', 'bind'])

/** Adds the functions that Kubernetes has for validation rules. */
export function registerKubernetesFunctions(environment: Environment): void {
  registerTexts(environment)
  registerLists(environment)
  registerSets(environment)
  registerQuantities(environment)
  registerUrls(environment)
}

function registerTexts(environment: Environment): void {
  environment
    .registerFunction(
      'string.kubernetesMatches(string): bool',
      (text: string, pattern: string) => expression(pattern).test(text),
      sync,
    )
    .registerFunction(
      'kubernetesMatches(string, string): bool',
      (text: string, pattern: string) => expression(pattern).test(text),
      sync,
    )
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => findAll(text, pattern, 1)[0] ?? '',
      sync,
    )
    .registerFunction(
      'string.findAll(string): list<string>',
      (text: string, pattern: string) => findAll(text, pattern, -1),
      sync,
    )
    .registerFunction(
      'string.findAll(string, int): list<string>',
      (text: string, pattern: string, most: bigint) => findAll(text, pattern, Number(most)),
      sync,
    )
    .registerFunction(
      'string.kubernetesLowerAscii(): string',
      (text: string) => text.replaceAll(/[A-Z]/g, (one) => one.toLowerCase()),
      sync,
    )
    .registerFunction(
      'string.kubernetesUpperAscii(): string',
      (text: string) => text.replaceAll(/[a-z]/g, (one) => one.toUpperCase()),
      sync,
    )
    .registerFunction('string.charAt(int): string', characterAt, sync)
    .registerFunction(
      'string.replace(string, string): string',
      (text: string, from: string, to: string) => text.replaceAll(from, () => to),
      sync,
    )
    .registerFunction('string.replace(string, string, int): string', replaceSome, sync)
    .registerFunction('string.reverse(): string', (text: string) => Array.from(text).toReversed().join(''), sync)
    .registerFunction('string.format(list): string', formatText, sync)
}

function registerLists(environment: Environment): void {
  for (const type of ordered) {
    const list = `list<${type}>`
    environment
      .registerFunction(`${list}.isSorted(): bool`, isSorted, sync)
      .registerFunction(`${list}.min(): ${type}`, (items: Ordered[]) => extreme(items, 'min'), sync)
      .registerFunction(`${list}.max(): ${type}`, (items: Ordered[]) => extreme(items, 'max'), sync)
  }
  environment
    .registerFunction('list<int>.sum(): int', (items: bigint[]) => items.reduce((sum, item) => sum + item, 0n), sync)
    .registerFunction(
      'list<double>.sum(): double',
      (items: number[]) => items.reduce((sum, item) => sum + item, 0),
      sync,
    )
    .registerFunction(
      'list.indexOf(dyn): int',
      (items: unknown[], item: unknown) => BigInt(items.findIndex((one) => equalValues(one, item))),
      sync,
    )
    .registerFunction(
      'list.lastIndexOf(dyn): int',
      (items: unknown[], item: unknown) => BigInt(items.findLastIndex((one) => equalValues(one, item))),
      sync,
    )
}

class Sets {
  readonly name = 'sets'
}

/** `sets.contains([1, 2], [1])`: functions on lists as sets. */
function registerSets(environment: Environment): void {
  const containsAll = (list: readonly unknown[], others: readonly unknown[]) =>
    others.every((other) => list.some((item) => equalValues(item, other)))
  const intersect = (list: readonly unknown[], others: readonly unknown[]) =>
    others.some((other) => list.some((item) => equalValues(item, other)))
  environment
    .registerType('Sets', Sets)
    .registerConstant('sets', 'Sets', new Sets())
    .registerFunction(
      'Sets.contains(list, list): bool',
      (_sets: Sets, one: unknown[], other: unknown[]) => containsAll(one, other),
      sync,
    )
    .registerFunction(
      'Sets.equivalent(list, list): bool',
      (_sets: Sets, one: unknown[], other: unknown[]) => containsAll(one, other) && containsAll(other, one),
      sync,
    )
    .registerFunction(
      'Sets.intersects(list, list): bool',
      (_sets: Sets, one: unknown[], other: unknown[]) => intersect(one, other),
      sync,
    )
}

function registerQuantities(environment: Environment): void {
  const number = (one: Quantity) => one
  environment
    .registerType('Quantity', { ctor: Quantity, fields: {} })
    .registerFunction('quantity(string): Quantity', (text: string) => Quantity.parse(text), sync)
    .registerFunction('isQuantity(string): bool', (text: string) => Quantity.isQuantity(text), sync)
    .registerFunction('Quantity.sign(): int', (one: Quantity) => one.sign(), sync)
    .registerFunction('Quantity.isInteger(): bool', (one: Quantity) => one.isInteger(), sync)
    .registerFunction('Quantity.asInteger(): int', (one: Quantity) => one.asInteger(), sync)
    .registerFunction('Quantity.asApproximateFloat(): double', (one: Quantity) => one.asApproximateFloat(), sync)
    .registerFunction(
      'Quantity.add(Quantity): Quantity',
      (one: Quantity, other: Quantity) => one.plus(number(other)),
      sync,
    )
    .registerFunction(
      'Quantity.add(int): Quantity',
      (one: Quantity, other: bigint) => one.plus(Quantity.whole(other)),
      sync,
    )
    .registerFunction(
      'Quantity.sub(Quantity): Quantity',
      (one: Quantity, other: Quantity) => one.minus(number(other)),
      sync,
    )
    .registerFunction(
      'Quantity.sub(int): Quantity',
      (one: Quantity, other: bigint) => one.minus(Quantity.whole(other)),
      sync,
    )
    .registerFunction('Quantity.compareTo(Quantity): int', (one: Quantity, other: Quantity) => one.compare(other), sync)
    .registerFunction(
      'Quantity.isGreaterThan(Quantity): bool',
      (one: Quantity, other: Quantity) => one.compare(other) > 0n,
      sync,
    )
    .registerFunction(
      'Quantity.isLessThan(Quantity): bool',
      (one: Quantity, other: Quantity) => one.compare(other) < 0n,
      sync,
    )
    .registerOperator('Quantity == Quantity', (one: Quantity, other: Quantity) => one.compare(other) === 0n)
}

function registerUrls(environment: Environment): void {
  environment
    .registerType('URL', { ctor: URL, fields: {} })
    .registerFunction('url(string): URL', (text: string) => parseUrl(text), sync)
    .registerFunction('isURL(string): bool', (text: string) => isUrl(text), sync)
    .registerFunction(
      'URL.getScheme(): string',
      (url: URL) => (url.protocol === 'path:' ? '' : url.protocol.slice(0, -1)),
      sync,
    )
    .registerFunction('URL.getHost(): string', (url: URL) => url.host, sync)
    .registerFunction('URL.getHostname(): string', (url: URL) => url.hostname.replace(/^\[(.*)\]$/, '$1'), sync)
    .registerFunction('URL.getPort(): string', (url: URL) => url.port, sync)
    .registerFunction('URL.getEscapedPath(): string', (url: URL) => url.pathname, sync)
    .registerFunction(
      'URL.getQuery(): map<string, list<string>>',
      (url: URL) => new Map([...new Set(url.searchParams.keys())].map((key) => [key, url.searchParams.getAll(key)])),
      sync,
    )
    .registerOperator('URL == URL', (one: URL, other: URL) => one.href === other.href)
}

const mostExpressions = 256
const expressions = new Map<string, RegularExpression>()

/** Cached, because rules use the same few patterns again and again. */
export function expression(pattern: string): RegularExpression {
  const known = expressions.get(pattern)
  if (known) return known
  const made = new RegularExpression(pattern)
  const [oldest] = expressions.keys()
  if (expressions.size >= mostExpressions && oldest !== undefined) expressions.delete(oldest)
  expressions.set(pattern, made)
  return made
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const found: string[] = []
  const sought = expression(pattern)
  const most = limit < 0 ? Infinity : limit
  let from = 0
  while (from <= text.length) {
    const match = found.length < most ? sought.find(text, from) : undefined
    if (!match) break
    found.push(text.slice(match.start, match.end))
    from = match.end > match.start ? match.end : match.end + 1
  }
  return found
}

function characterAt(text: string, index: bigint): string {
  const characters = Array.from(text)
  if (index < 0n || index > BigInt(characters.length)) throw new RangeError(`index out of range: ${index}`)
  return characters[Number(index)] ?? ''
}

function replaceSome(text: string, from: string, to: string, most: bigint): string {
  if (most < 0n) return text.replaceAll(from, () => to)
  let left = most
  return text.replaceAll(from, (match) => (left-- > 0n ? to : match))
}

function isSorted(items: readonly Ordered[]): boolean {
  return items.every((item, index) => {
    const next = items[index + 1]
    return next === undefined || item <= next
  })
}

function extreme(items: readonly Ordered[], which: 'min' | 'max'): Ordered {
  const [first] = items
  if (first === undefined) throw new RangeError(`${which} called on empty list`)
  return items.reduce((best, item) => ((which === 'min' ? item < best : item > best) ? item : best), first)
}
