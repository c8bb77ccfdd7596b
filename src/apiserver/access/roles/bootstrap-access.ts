import { clusterRoleBindingKind } from '../../../resources/role-binding.ts'
import { clusterRoleKind } from '../../../resources/role.ts'
import type { Kind } from '../../../resources/kind.ts'
import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { isStatusError } from '../../../resources/status-error.ts'
import type { ClusterApi } from '../../cluster-api.ts'
import { type JsonObject, isJsonObject } from '../../../resources/json-value.ts'
import { type BootstrapBinding, type BootstrapRole, bootstrapBindings, bootstrapRoles } from './bootstrap-roles.ts'
import { readRules } from './policy-rule.ts'
import { rbacGroup, readBinding } from './role-objects.ts'
import { missingRules } from './rule-cover.ts'

const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate'
const metadataOf = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  name,
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  annotations: { [autoUpdate]: 'true' },
})

/**
 * Creates the roles and bindings that a cluster starts with. Existing ones keep what their owner added and get what a
 * newer version of this program needs, unless their annotation forbids it.
 */
export async function createBootstrapAccess(api: ClusterApi): Promise<void> {
  // Together: they share a commit, where one after the other would wait for the disk as often as there are any.
  await Promise.all(bootstrapRoles.map((role) => ensure(api, clusterRoleKind, roleObject(role), addRules)))
  await Promise.all(
    bootstrapBindings.map((binding) => ensure(api, clusterRoleBindingKind, bindingObject(binding), addSubjects)),
  )
}

type Named = JsonObject & { readonly metadata: { readonly name: string } }

function roleObject({ name, labels, rules, sumOf }: BootstrapRole): Named {
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { [sumOf ?? '']: 'true' } }] }
  return { metadata: metadataOf(name, labels), ...(sumOf === undefined ? { rules } : { aggregationRule, rules: [] }) }
}

function bindingObject({ name, groups }: BootstrapBinding): Named {
  const subjects = groups.map((group) => ({ kind: 'Group', apiGroup: rbacGroup, name: group }))
  return { metadata: metadataOf(name), roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name }, subjects }
}

async function ensure(
  api: ClusterApi,
  kind: Kind,
  wanted: Named,
  add: (current: KubernetesObject, wanted: JsonObject) => JsonObject | undefined,
): Promise<void> {
  const { name } = wanted.metadata
  const current = api.find(kind, { name })
  if (current) {
    const next = current.metadata.annotations?.[autoUpdate] === 'true' ? add(current, wanted) : undefined
    if (next) await api.update(kind, { name }, next)
    return
  }
  try {
    await api.create(kind, undefined, wanted)
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
  }
}

function addRules(current: KubernetesObject, wanted: JsonObject): JsonObject | undefined {
  const { rules: missing } = missingRules(readRules(current['rules']), readRules(wanted['rules']))
  if (missing.length === 0) return undefined
  const rules = Array.isArray(current['rules']) ? current['rules'] : []
  const added = Array.isArray(wanted['rules']) ? wanted['rules'] : []
  return {
    ...current,
    rules: [...rules, ...added.filter((rule) => missingRules(readRules(rules), readRules([rule])).rules.length > 0)],
  }
}

function addSubjects(current: KubernetesObject, wanted: JsonObject): JsonObject | undefined {
  const known = new Set(readBinding(current).subjects.map(({ kind, name }) => `${kind}/${name}`))
  const subjects = Array.isArray(wanted['subjects']) ? wanted['subjects'].filter(isJsonObject) : []
  const missing = subjects.filter(({ kind, name }) => !known.has(`${String(kind)}/${String(name)}`))
  if (missing.length === 0) return undefined
  return { ...current, subjects: [...(Array.isArray(current['subjects']) ? current['subjects'] : []), ...missing] }
}
