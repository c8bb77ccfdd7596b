import type { PolicyRule } from './policy-rule.ts'
import { RuleIndex, type RuleSet, TooComplicated, common, meet } from './rule-index.ts'

/** A rule about one verb on one thing: a path, or a resource of a group, perhaps with a name. */
interface Single {
  readonly verb?: string | undefined
  readonly url?: string | undefined
  readonly group?: string | undefined
  readonly resource?: string | undefined
  readonly name?: string | undefined
}

/** At most this many missing rules are listed. */
const mostMissing = 200
/** The bound on the work for one question: set intersections, each counted by its size. */
const mostWork = 4_000_000

export interface Missing {
  readonly rules: readonly PolicyRule[]
  /** `false` when more is missing than is listed. */
  readonly isAll: boolean
}

/**
 * What `wanted` allows and `held` does not, as few rules as possible; empty when everything is held. Throws
 * TooComplicated.
 */
export function missingRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Missing {
  const search = new MissingSearch(held)
  for (const rule of distinct(wanted)) search.look(rule)
  return { rules: compact(search.found), isAll: !search.isFull }
}

interface WantedList {
  readonly of: keyof Single
  readonly list: ReadonlyArray<string | undefined>
  readonly rulesFor: (value: string | undefined) => RuleSet
}

/** The values of one list of a wanted rule, each with the held rules that allow it. */
interface Choice {
  readonly of: keyof Single
  readonly values: ReadonlyArray<readonly [value: string | undefined, rules: RuleSet]>
  /** The held rules that allow every value of this list and of all lists after it. */
  readonly forAll: RuleSet
}

class MissingSearch {
  readonly found: Single[] = []
  readonly #held: RuleIndex
  readonly #setSize: number
  #work = 0

  constructor(held: readonly PolicyRule[]) {
    const distinctHeld = distinct(held)
    this.#held = new RuleIndex(distinctHeld)
    this.#setSize = 1 + distinctHeld.length / 32
  }

  get isFull(): boolean {
    return this.found.length >= mostMissing
  }

  look({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): void {
    const held = this.#held
    this.#count(nonResourceURLs.length * held.patterns)
    this.#search([
      { of: 'url', list: nonResourceURLs, rulesFor: (path = '') => held.withPath(path) },
      { of: 'verb', list: verbs, rulesFor: (verb = '') => held.withVerb(verb) },
    ])
    this.#search([
      { of: 'group', list: apiGroups, rulesFor: (group = '') => held.withGroup(group) },
      { of: 'resource', list: resources, rulesFor: (resource = '') => held.withResource(resource) },
      {
        of: 'name',
        list: resourceNames.length > 0 ? resourceNames : [undefined],
        rulesFor: (name) => held.withName(name),
      },
      { of: 'verb', list: verbs, rulesFor: (verb = '') => held.withVerb(verb) },
    ])
  }

  /** Short lists come first: they branch least, and the long ones after them can mostly be judged as a whole. */
  #search(lists: readonly WantedList[]): void {
    if (this.isFull || lists.some(({ list }) => list.length === 0)) return
    let forAll = this.#held.all
    const choices = lists
      .toSorted((one, other) => other.list.length - one.list.length)
      .map(({ of, list, rulesFor }) => {
        this.#count(list.length)
        const values = list.map((value) => [value, rulesFor(value)] as const)
        for (const [, rules] of values) forAll = common(forAll, rules)
        return { of, values, forAll }
      })
    this.#within(choices.toReversed(), 0, this.#held.all, {})
  }

  /**
   * Goes through the wanted lists one after the other. Where a single held rule allows everything that is left, there
   * is nothing missing, which mostly shows at once; otherwise each value is looked at.
   */
  #within(choices: readonly Choice[], at: number, rules: RuleSet, chosen: Single): void {
    this.#count(1)
    const next = choices[at]
    if (!next) {
      if (!meet(rules, rules)) this.found.push(chosen)
      return
    }
    if (meet(rules, next.forAll)) return
    for (const [value, allowing] of next.values) {
      if (this.isFull) return
      this.#within(choices, at + 1, common(rules, allowing), { ...chosen, [next.of]: value })
    }
  }

  #count(sets: number): void {
    this.#work += sets * this.#setSize
    if (this.#work > mostWork) throw new TooComplicated()
  }
}

function distinct(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()]
}

function compact(singles: readonly Single[]): PolicyRule[] {
  const byThing = Map.groupBy(singles, ({ url, group, resource, name }) => JSON.stringify([url, group, resource, name]))
  return [...byThing.values()].flatMap((things): PolicyRule[] => {
    const [first] = things
    if (!first) return []
    const list = (value: string | undefined) => (value === undefined ? [] : [value])
    return [
      {
        verbs: [...new Set(things.flatMap(({ verb }) => list(verb)))],
        apiGroups: list(first.group),
        resources: list(first.resource),
        resourceNames: list(first.name),
        nonResourceURLs: list(first.url),
      },
    ]
  })
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}` */
export function describeRule(rule: PolicyRule): string {
  const parts: Array<[string, readonly string[]]> = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['ResourceNames', rule.resourceNames],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['Verbs', rule.verbs],
  ]
  const shown = parts.filter(([, values]) => values.length > 0).map(([name, values]) => `${name}:${quotedList(values)}`)
  return `{${shown.join(', ')}}`
}

/** `["a" "b"]` */
export function quotedList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(' ')}]`
}
