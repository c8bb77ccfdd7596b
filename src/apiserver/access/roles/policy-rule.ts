import { isJsonObject } from '../../../resources/json-value.ts'
import type { Attempt } from '../attempt.ts'

/** One rule of a role, either about resources or about paths. */
export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

/** The `rules` of a stored role; entries that are not rules are left out. */
export function readRules(value: unknown): PolicyRule[] {
  if (!Array.isArray(value)) return []
  return value.filter(isJsonObject).map((rule) => ({
    verbs: texts(rule['verbs']),
    apiGroups: texts(rule['apiGroups']),
    resources: texts(rule['resources']),
    resourceNames: texts(rule['resourceNames']),
    nonResourceURLs: texts(rule['nonResourceURLs']),
  }))
}

/** The strings of a list, without repetitions. */
function texts(value: unknown): string[] {
  return Array.isArray(value) ? [...new Set(value.filter((item) => typeof item === 'string'))] : []
}

const sets = new WeakMap<readonly string[], ReadonlySet<string>>()
const fewest = 16

/** Asked of every rule by every request, so long lists are looked up in a set and short ones searched. */
function has(list: readonly string[], value: string): boolean {
  if (list.length < fewest) return list.includes(value)
  let set = sets.get(list)
  if (!set) sets.set(list, (set = new Set(list)))
  return set.has(value)
}

/** A rule as objects and reviews show it, without its empty fields. */
export function showRule(rule: PolicyRule): Record<string, readonly string[]> {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
  return {
    verbs,
    ...(apiGroups.length > 0 && { apiGroups }),
    ...(resources.length > 0 && { resources }),
    ...(resourceNames.length > 0 && { resourceNames }),
    ...(nonResourceURLs.length > 0 && { nonResourceURLs }),
  }
}

export function ruleAllows(rule: PolicyRule, attempt: Attempt): boolean {
  if (!names(rule.verbs, attempt.verb)) return false
  if (attempt.type === 'path') return rule.nonResourceURLs.some((pattern) => matchesUrl(pattern, attempt.path))
  const { resource, subresource, name } = attempt
  if (!names(rule.apiGroups, attempt.group) || !coversResource(rule.resources, resource, subresource)) return false
  return rule.resourceNames.length === 0 || (name !== undefined && has(rule.resourceNames, name))
}

function names(list: readonly string[], value: string): boolean {
  return has(list, value) || has(list, '*')
}

/**
 * `*` covers everything, `pods` does not cover its subresources, and `*` + `/log` covers that subresource of every
 * resource.
 */
export function coversResource(
  resources: readonly string[],
  resource: string,
  subresource: string | undefined,
): boolean {
  if (has(resources, '*')) return true
  if (subresource === undefined) return has(resources, resource)
  return has(resources, `${resource}/${subresource}`) || has(resources, `*/${subresource}`)
}

export function matchesUrl(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))
}
