import { type PolicyRule, matchesUrl } from './policy-rule.ts'

/** The question would take too much time or memory to answer. */
export class TooComplicated extends Error {
  override readonly name = 'TooComplicated'
}

/** The bound on the memory of an index, in words of all its sets together. */
const mostWords = 4_000_000

/** Some of the held rules, one bit each. */
export type RuleSet = Uint32Array

/**
 * The rules that somebody holds, indexed by verb, group, resource, name and path. What is wanted is judged by
 * intersecting these sets, never by spelling out the product of its lists.
 */
export class RuleIndex {
  readonly #words: number
  readonly #verbs: Dimension
  readonly #groups: Dimension
  readonly #resources: Dimension
  readonly #names: Dimension
  readonly #paths: Dimension
  readonly #prefixes = new Map<string, RuleSet>()

  constructor(held: readonly PolicyRule[]) {
    this.#words = Math.ceil(held.length / 32)
    const room = { left: mostWords }
    const dimension = () => new Dimension(this.#words, room)
    this.#verbs = dimension()
    this.#groups = dimension()
    this.#resources = dimension()
    this.#names = dimension()
    this.#paths = dimension()
    for (const [index, rule] of held.entries()) {
      for (const verb of rule.verbs) this.#verbs.put(verb, index)
      for (const group of rule.apiGroups) this.#groups.put(group, index)
      for (const resource of rule.resources) this.#resources.put(resource, index)
      for (const name of rule.resourceNames) this.#names.put(`n${name}`, index)
      // A rule without names is about all names.
      if (rule.resourceNames.length === 0) this.#names.put('*', index)
      for (const path of rule.nonResourceURLs) this.#putPath(path, index)
    }
  }

  get all(): RuleSet {
    return new Uint32Array(this.#words).fill(0xffffffff)
  }

  withVerb(verb: string): RuleSet {
    return this.#verbs.find(verb)
  }

  withGroup(group: string): RuleSet {
    return this.#groups.find(group)
  }

  withResource(text: string): RuleSet {
    const [resource = '', subresource] = text.split('/', 2)
    if (subresource === undefined) return this.#resources.find(text)
    return this.#resources.find(text, `${resource}/${subresource}`, `*/${subresource}`)
  }

  /**
   * The rules that allow this name; `undefined` is a request without a name, which only rules about all names allow.
   */
  withName(name: string | undefined): RuleSet {
    return name === undefined ? this.#names.find('*') : this.#names.find(`n${name}`)
  }

  withPath(path: string): RuleSet {
    const found = Uint32Array.from(this.#paths.find(path))
    for (const [pattern, rules] of this.#prefixes) if (matchesUrl(pattern, path)) addAll(found, rules)
    return found
  }

  #putPath(path: string, index: number): void {
    this.#paths.put(path, index)
    if (path === '*' || !path.endsWith('*')) return
    const rules = this.#prefixes.get(path) ?? new Uint32Array(this.#words)
    put(rules, index)
    this.#prefixes.set(path, rules)
  }

  /** How many patterns each path is compared with. */
  get patterns(): number {
    return this.#prefixes.size
  }
}

/** Which rules have a given value in one of their lists. `*` stands for every value. */
class Dimension {
  readonly #words: number
  readonly #room: { left: number }
  readonly #byValue = new Map<string, RuleSet>()

  constructor(words: number, room: { left: number }) {
    this.#words = words
    this.#room = room
    this.#byValue.set('*', new Uint32Array(words))
  }

  put(value: string, index: number): void {
    let rules = this.#byValue.get(value)
    if (!rules) {
      this.#room.left -= this.#words
      if (this.#room.left < 0) throw new TooComplicated()
      rules = new Uint32Array(this.#words)
      this.#byValue.set(value, rules)
    }
    put(rules, index)
  }

  find(...values: readonly string[]): RuleSet {
    const everywhere = this.#byValue.get('*') ?? new Uint32Array(this.#words)
    let found = everywhere
    for (const value of values) {
      const rules = this.#byValue.get(value)
      if (!rules || rules === everywhere) continue
      if (found === everywhere) found = Uint32Array.from(everywhere)
      addAll(found, rules)
    }
    return found
  }
}

function put(rules: RuleSet, index: number): void {
  const word = index >>> 5
  rules[word] = (rules[word] ?? 0) | (1 << (index & 31))
}

function addAll(rules: RuleSet, others: RuleSet): void {
  for (let word = 0; word < rules.length; word += 1) rules[word] = (rules[word] ?? 0) | (others[word] ?? 0)
}

/** The rules that are in both sets. */
export function common(one: RuleSet, other: RuleSet): RuleSet {
  const both = new Uint32Array(one.length)
  for (let word = 0; word < both.length; word += 1) both[word] = (one[word] ?? 0) & (other[word] ?? 0)
  return both
}

/** Whether any rule is in both sets. */
export function meet(one: RuleSet, other: RuleSet): boolean {
  for (let word = 0; word < one.length; word += 1) if (((one[word] ?? 0) & (other[word] ?? 0)) !== 0) return true
  return false
}
