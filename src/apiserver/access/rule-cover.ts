import { StatusError } from '../../resources/status-error.ts'
import { type PolicyRule, coversResource, matchesUrl } from './policy-rule.ts'

/** A rule about a single verb of a single thing. */
type Single =
  | { readonly verb: string; readonly url: string }
  | { readonly verb: string; readonly group: string; readonly resource: string; readonly name: string | undefined }

const mostSingles = 50_000

/** What `wanted` allows and `held` does not, as few rules; empty when everything is held. */
export function missingRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing = wanted
    .flatMap((rule) => singlesOf(rule))
    .filter((single) => !held.some((rule) => covers(rule, single)))
  return compact(missing)
}

function singlesOf(rule: PolicyRule): Single[] {
  const count =
    rule.verbs.length *
    (rule.apiGroups.length * rule.resources.length * Math.max(1, rule.resourceNames.length) +
      rule.nonResourceURLs.length)
  if (count > mostSingles) {
    throw new StatusError('BadRequest', `a rule may not stand for more than ${mostSingles} single permissions`)
  }
  const urls = rule.nonResourceURLs.flatMap((url) => rule.verbs.map((verb) => ({ verb, url })))
  const resourceNames = rule.resourceNames.length > 0 ? rule.resourceNames : [undefined]
  const resources = rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      resourceNames.flatMap((name) => rule.verbs.map((verb) => ({ verb, group, resource, name }))),
    ),
  )
  return [...resources, ...urls]
}

function covers(held: PolicyRule, single: Single): boolean {
  if (!held.verbs.includes('*') && !held.verbs.includes(single.verb)) return false
  if ('url' in single) return held.nonResourceURLs.some((pattern) => matchesUrl(pattern, single.url))
  if (!held.apiGroups.includes('*') && !held.apiGroups.includes(single.group)) return false
  const [resource = '', subresource] = single.resource.split('/', 2)
  const covered = held.resources.includes(single.resource) || coversResource(held.resources, resource, subresource)
  if (!covered) return false
  return held.resourceNames.length === 0 || (single.name !== undefined && held.resourceNames.includes(single.name))
}

function compact(singles: readonly Single[]): PolicyRule[] {
  const byThing = Map.groupBy(singles, (single) =>
    'url' in single
      ? JSON.stringify(['url', single.url])
      : JSON.stringify([single.group, single.resource, single.name ?? null]),
  )
  return [...byThing.values()].flatMap((group): PolicyRule[] => {
    const [first] = group
    if (!first) return []
    const verbs = [...new Set(group.map(({ verb }) => verb))]
    const empty = { verbs, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] }
    if ('url' in first) return [{ ...empty, nonResourceURLs: [first.url] }]
    const resourceNames = first.name === undefined ? [] : [first.name]
    return [{ ...empty, apiGroups: [first.group], resources: [first.resource], resourceNames }]
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
