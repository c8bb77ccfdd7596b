import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { isJsonObject } from '../../../resources/json-value.ts'
import { type LabelRequirement, type LabelSelector, labelsEqual } from '../../reading/label-selector.ts'
import { type PolicyRule, readRules } from './policy-rule.ts'
import { serviceAccountUserName } from '../identity/user.ts'

export const rbacGroup = 'rbac.authorization.k8s.io'

/** The names of these resources in the store. */
export const rbacResources = {
  role: `roles.${rbacGroup}`,
  roleBinding: `rolebindings.${rbacGroup}`,
  clusterRole: `clusterroles.${rbacGroup}`,
  clusterRoleBinding: `clusterrolebindings.${rbacGroup}`,
} as const

export interface RoleFacts {
  readonly rules: readonly PolicyRule[]
  readonly labels: Readonly<Record<string, string>>
  /** For an aggregated ClusterRole: it is the sum of the roles that one of these selects. */
  readonly aggregates: readonly LabelSelector[] | undefined
}

export interface RoleReference {
  readonly kind: 'Role' | 'ClusterRole'
  readonly name: string
}

export interface Subject {
  readonly kind: 'User' | 'Group' | 'ServiceAccount'
  readonly name: string
  readonly namespace?: string | undefined
}

export interface BindingFacts {
  readonly role: RoleReference | undefined
  readonly subjects: readonly Subject[]
}

export function readRole(object: KubernetesObject): RoleFacts {
  return {
    rules: readRules(object['rules']),
    labels: object.metadata.labels ?? {},
    aggregates: readAggregation(object['aggregationRule']),
  }
}

export function readAggregation(value: unknown): LabelSelector[] | undefined {
  if (!isJsonObject(value)) return undefined
  const selectors = value['clusterRoleSelectors']
  return Array.isArray(selectors) ? selectors.filter(isJsonObject).map((selector) => readSelector(selector)) : []
}

function readSelector(selector: Readonly<Record<string, unknown>>): LabelSelector {
  const { matchLabels, matchExpressions } = selector
  const labels = isJsonObject(matchLabels) ? textValues(matchLabels) : {}
  const expressions = Array.isArray(matchExpressions) ? matchExpressions.filter(isJsonObject) : []
  return [...labelsEqual(labels), ...expressions.map((expression) => readExpression(expression))]
}

function textValues(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]))
}

function readExpression(expression: Readonly<Record<string, unknown>>): LabelRequirement {
  const key = String(expression['key'])
  const values = new Set(Array.isArray(expression['values']) ? expression['values'].map(String) : [])
  switch (expression['operator']) {
    case 'Exists':
      return { key, operator: 'exists' }
    case 'DoesNotExist':
      return { key, operator: 'absent' }
    case 'NotIn':
      return { key, operator: 'notin', values }
    default:
      return { key, operator: 'in', values }
  }
}

export function readBinding(object: KubernetesObject): BindingFacts {
  const subjects = Array.isArray(object['subjects']) ? object['subjects'] : []
  return { role: readRoleReference(object['roleRef']), subjects: subjects.flatMap((value) => readSubject(value)) }
}

export function readRoleReference(value: unknown): RoleReference | undefined {
  if (!isJsonObject(value) || typeof value['name'] !== 'string') return undefined
  const { kind, name } = value
  return kind === 'Role' || kind === 'ClusterRole' ? { kind, name } : undefined
}

function readSubject(value: unknown): Subject[] {
  if (!isJsonObject(value) || typeof value['name'] !== 'string') return []
  const { kind, name, namespace } = value
  if (kind === 'User' || kind === 'Group') return [{ kind, name }]
  if (kind !== 'ServiceAccount') return []
  return [{ kind, name, namespace: typeof namespace === 'string' ? namespace : undefined }]
}

/**
 * The key under which a subject's grants are found. A service account counts as its user name, in the binding's
 * namespace unless it names another. `undefined`: the subject means nobody.
 */
export function subjectKey({ kind, name, namespace }: Subject, bindingNamespace: string): string | undefined {
  if (kind === 'Group') return groupKey(name)
  if (kind === 'User') return userKey(name)
  const home = namespace === undefined || namespace === '' ? bindingNamespace : namespace
  return home === '' ? undefined : userKey(serviceAccountUserName(home, name))
}

export function userKey(name: string): string {
  return `user ${name}`
}

export function groupKey(name: string): string {
  return `group ${name}`
}

/** `User "eve"`, as decisions name it. */
export function describeSubject({ kind, name, namespace }: Subject): string {
  return `${kind} ${JSON.stringify(kind === 'ServiceAccount' ? `${name}/${namespace ?? ''}` : name)}`
}
