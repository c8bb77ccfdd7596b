import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { StatusError } from '../../../resources/status-error.ts'
import type { AdmissionRequest, AdmissionRule } from '../../admission/admission.ts'
import { sameJson } from '../../../resources/json-value.ts'
import { type PolicyRule, readRules } from './policy-rule.ts'
import type { Authorizer } from './rbac-authorizer.ts'
import { rbacGroup, readAggregation, readRoleReference } from './role-objects.ts'
import type { RoleTable } from './role-table.ts'
import { type Missing, describeRule, missingRules, quotedList } from './rule-cover.ts'
import { TooComplicated } from './rule-index.ts'
import { type User, isMaster } from '../identity/user.ts'

/**
 * Prevents users from granting more than they hold: writing a role requires every rule in it (or the verb `escalate`),
 * binding a role requires every rule of that role (or `bind`). Requests without a user come from the cluster itself and
 * are not checked.
 */
export function noEscalation(table: RoleTable, authorizer: Authorizer): AdmissionRule {
  return (request) => {
    const { kind, user, operation } = request
    if (kind.group !== rbacGroup || !user || operation === 'delete' || isMaster(user)) return []
    if (onlyOwnersChanged(request)) return []
    if (kind.kind === 'Role' || kind.kind === 'ClusterRole') checkRole(request, user, authorizer)
    else checkBinding(request, user, table, authorizer)
    return []
  }
}

function checkRole(request: AdmissionRequest, user: User, authorizer: Authorizer): void {
  const { object, previous, kind } = request
  const { namespace, name } = object.metadata
  const attempt = {
    type: 'resource',
    verb: 'escalate',
    group: rbacGroup,
    resource: kind.plural,
    namespace,
    name,
  } as const
  if (authorizer.decide(user, attempt).allowed) return
  if (readAggregation(object['aggregationRule']) && isNewAggregation(object, previous)) {
    const held = authorizer.rulesOf(user, '').rules
    if (missingIn(request, held, allOfIt).rules.length > 0) {
      throw refused(request, 'must have cluster-admin privileges to use the aggregationRule')
    }
  }
  refuseMissing(request, user, authorizer, readRules(object['rules']))
}

const allOfIt: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
]

/** Whether only the owner references changed: garbage collection must be able to do that without holding the rules. */
function onlyOwnersChanged({ object, previous }: AdmissionRequest): boolean {
  return previous !== undefined && sameJson(withoutOwners(object), withoutOwners(previous))
}

function withoutOwners(object: KubernetesObject): unknown {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _managed, ...metadata } = object.metadata
  return { ...object, metadata }
}

function isNewAggregation(object: KubernetesObject, previous: KubernetesObject | undefined): boolean {
  return !previous || !sameJson(object['aggregationRule'], previous['aggregationRule'])
}

function checkBinding(request: AdmissionRequest, user: User, table: RoleTable, authorizer: Authorizer): void {
  const { object, kind } = request
  const { namespace } = object.metadata
  const role = readRoleReference(object['roleRef'])
  if (!role) return
  const resource = role.kind === 'Role' ? 'roles' : 'clusterroles'
  const attempt = { type: 'resource', verb: 'bind', group: rbacGroup, resource, namespace, name: role.name } as const
  if (authorizer.decide(user, attempt).allowed) return
  const rules = table.rulesOf(role, namespace ?? '')
  if (!rules) {
    const message = `${kind.plural}.${kind.group} "${role.name}" not found`
    throw new StatusError('NotFound', message, { name: role.name, group: kind.group, kind: kind.plural })
  }
  refuseMissing(request, user, authorizer, rules)
}

function refuseMissing(
  request: AdmissionRequest,
  user: User,
  authorizer: Authorizer,
  wanted: readonly PolicyRule[],
): void {
  const held = authorizer.rulesOf(user, request.object.metadata.namespace ?? '')
  const { rules: missing, isAll } = missingIn(request, held.rules, wanted)
  if (missing.length === 0) return
  const who = `user ${JSON.stringify(user.name)} (groups=${quotedList(user.groups)})`
  const told = missing.map((rule) => describeRule(rule)).sort()
  const lines = isAll ? told : [...told, '… and more']
  const because = held.error === '' ? '' : `; resolution errors: ${quotedList([held.error])}`
  const grant = 'is attempting to grant RBAC permissions not currently held'
  throw refused(request, `${who} ${grant}:\n${lines.join('\n')}${because}`)
}

/** Rules that are too complicated to compare are not granted. */
function missingIn(request: AdmissionRequest, held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Missing {
  try {
    return missingRules(held, wanted)
  } catch (error) {
    if (!(error instanceof TooComplicated)) throw error
    const why = 'whether all of its permissions are held is too much to find out: give it fewer or simpler rules'
    throw refused(request, why)
  }
}

function refused({ kind, object }: AdmissionRequest, why: string): StatusError {
  const { name } = object.metadata
  const message = `${kind.plural}.${kind.group} "${name}" is forbidden: ${why}`
  return new StatusError('Forbidden', message, { name, group: kind.group, kind: kind.plural })
}
