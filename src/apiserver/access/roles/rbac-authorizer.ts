import type { Attempt, Decision } from '../attempt.ts'
import { type PolicyRule, ruleAllows } from './policy-rule.ts'
import { describeSubject, rbacGroup } from './role-objects.ts'
import type { Grant, RoleTable } from './role-table.ts'
import { type User, isMaster } from '../identity/user.ts'

/** Decides who may do what. */
export interface Authorizer {
  decide(user: User, attempt: Attempt): Decision
  /** Everything a user may do in a namespace ('' for the whole cluster), as far as that can be listed. */
  rulesOf(user: User, namespace: string): HeldRules
}

export interface HeldRules {
  readonly rules: readonly PolicyRule[]
  /** What could not be resolved, such as a role that does not exist; empty when everything could. */
  readonly error: string
}

const allowedAsMaster: Decision = { allowed: true, reason: '' }
const denied: Decision = { allowed: false, reason: '' }
const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
]

/** Kubernetes' role-based access control: only what a role bound to the user allows is allowed. */
export class RbacAuthorizer implements Authorizer {
  readonly #table: RoleTable

  constructor(table: RoleTable) {
    this.#table = table
  }

  decide(user: User, attempt: Attempt): Decision {
    if (isMaster(user)) return allowedAsMaster
    const namespace = attempt.type === 'resource' ? attempt.namespace : undefined
    let missing: Set<string> | undefined
    for (const grant of this.#table.grantsOf(user, namespace)) {
      const rules = this.#table.rulesOf(grant.role, grant.namespace)
      if (!rules) (missing ??= new Set()).add(describeMissing(grant))
      else if (rules.some((rule) => ruleAllows(rule, attempt))) return allowedBy(grant)
    }
    return missing ? { allowed: false, reason: `RBAC: ${joined(missing)}` } : denied
  }

  rulesOf(user: User, namespace: string): HeldRules {
    const rules: PolicyRule[] = isMaster(user) ? [...everything] : []
    const missing = new Set<string>()
    for (const grant of this.#table.grantsOf(user, namespace)) {
      const found = this.#table.rulesOf(grant.role, grant.namespace)
      if (!found) missing.add(describeMissing(grant))
      for (const rule of found ?? []) {
        // A role bound in a namespace grants nothing about paths.
        if (grant.namespace === '' || rule.nonResourceURLs.length === 0) rules.push(rule)
      }
    }
    return { rules, error: joined(missing) }
  }
}

/** The same grants are used again and again, so the sentence about each is written once. */
const decisions = new WeakMap<Grant, Decision>()

function allowedBy(grant: Grant): Decision {
  let decision = decisions.get(grant)
  if (!decision) decisions.set(grant, (decision = describeAllowed(grant)))
  return decision
}

function describeAllowed({ binding, namespace, role, subject }: Grant): Decision {
  const by = namespace === '' ? `ClusterRoleBinding "${binding}"` : `RoleBinding "${binding}/${namespace}"`
  const reason = `RBAC: allowed by ${by} of ${role.kind} "${role.name}" to ${describeSubject(subject)}`
  return { allowed: true, reason }
}

function describeMissing({ role }: Grant): string {
  return `${role.kind.toLowerCase()}.${rbacGroup} "${role.name}" not found`
}

function joined(missing: ReadonlySet<string>): string {
  const [first = '', ...others] = missing
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`
}

const publicPaths = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/'])

/**
 * The authorizer of a cluster without roles: `system:masters` may do everything, everybody may see health and version.
 */
export const mastersOnly: Authorizer = {
  decide(user, attempt) {
    if (isMaster(user)) return allowedAsMaster
    const isPublic = attempt.type === 'path' && attempt.verb === 'get' && publicPaths.has(attempt.path)
    return { allowed: isPublic, reason: '' }
  },
  rulesOf: (user) => ({ rules: isMaster(user) ? everything : [], error: '' }),
}
