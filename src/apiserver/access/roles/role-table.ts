import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { type LabelSelector, matchesLabels } from '../../reading/label-selector.ts'
import type { PolicyRule } from './policy-rule.ts'
import {
  type BindingFacts,
  type RoleFacts,
  type RoleReference,
  type Subject,
  groupKey,
  rbacResources,
  readBinding,
  readRole,
  subjectKey,
  userKey,
} from './role-objects.ts'
import type { User } from '../identity/user.ts'

/** A role bound to a subject. */
export interface Grant {
  readonly binding: string
  /** Empty for the whole cluster. */
  readonly namespace: string
  readonly role: RoleReference
  readonly subject: Subject
}

/** All roles and bindings of a cluster, indexed by subject, so that a decision looks only at its user's own grants. */
export class RoleTable {
  readonly #roles = new Map<string, RoleFacts>()
  readonly #clusterRoles = new Map<string, RoleFacts>()
  readonly #bindings = new Map<string, readonly Grant[]>()
  /** By namespace ('' for the whole cluster), then by subject. */
  readonly #grants = new Map<string, Map<string, Set<Grant>>>()
  /** Rules of aggregated roles, valid until any ClusterRole changes. */
  readonly #sums = new Map<string, readonly PolicyRule[]>()

  put(resource: string, object: KubernetesObject): void {
    const { namespace = '', name } = object.metadata
    switch (resource) {
      case rbacResources.role:
        this.#roles.set(`${namespace}/${name}`, readRole(object))
        return
      case rbacResources.clusterRole:
        this.#clusterRoles.set(name, readRole(object))
        this.#sums.clear()
        return
      default:
        this.#unbind(namespace, name)
        this.#bind(namespace, name, readBinding(object))
    }
  }

  remove(resource: string, { namespace, name }: { readonly namespace: string; readonly name: string }): void {
    switch (resource) {
      case rbacResources.role:
        this.#roles.delete(`${namespace}/${name}`)
        return
      case rbacResources.clusterRole:
        this.#clusterRoles.delete(name)
        this.#sums.clear()
        return
      default:
        this.#unbind(namespace, name)
    }
  }

  /** Forgets everything of a resource, before it is read again. */
  clear(resource: string): void {
    if (resource === rbacResources.role) this.#roles.clear()
    else if (resource === rbacResources.clusterRole) {
      this.#clusterRoles.clear()
      this.#sums.clear()
    } else {
      const wanted = resource === rbacResources.clusterRoleBinding
      for (const key of this.#bindings.keys()) {
        const slash = key.indexOf('/')
        if ((slash === 0) === wanted) this.#unbind(key.slice(0, slash), key.slice(slash + 1))
      }
    }
  }

  /** The grants of a user: those for the whole cluster first, then those of the namespace. */
  *grantsOf(user: User, namespace: string | undefined): Generator<Grant> {
    yield* this.#grantsIn('', user)
    if (namespace !== undefined && namespace !== '') yield* this.#grantsIn(namespace, user)
  }

  *#grantsIn(namespace: string, user: User): Generator<Grant> {
    const bySubject = this.#grants.get(namespace)
    if (!bySubject) return
    yield* bySubject.get(userKey(user.name)) ?? []
    for (const group of user.groups) yield* bySubject.get(groupKey(group)) ?? []
  }

  /** The rules of a role; `undefined` when there is no such role. */
  rulesOf({ kind, name }: RoleReference, namespace: string): readonly PolicyRule[] | undefined {
    return kind === 'Role' ? this.#roles.get(`${namespace}/${name}`)?.rules : this.#clusterRules(name)
  }

  /** The rules that an aggregated ClusterRole should show; `undefined` when the role is not aggregated. */
  aggregated(name: string): readonly PolicyRule[] | undefined {
    return this.#clusterRoles.get(name)?.aggregates ? this.#clusterRules(name) : undefined
  }

  get clusterRoleNames(): Iterable<string> {
    return this.#clusterRoles.keys()
  }

  #clusterRules(name: string): readonly PolicyRule[] | undefined {
    const role = this.#clusterRoles.get(name)
    if (!role?.aggregates) return role?.rules
    const known = this.#sums.get(name)
    if (known) return known
    const rules = new Map<string, PolicyRule>()
    this.#sumUp(role.aggregates, rules, new Set([name]))
    const sum = [...rules.values()]
    this.#sums.set(name, sum)
    return sum
  }

  /** Visits each role once, so that roles which aggregate each other do not loop for ever. */
  #sumUp(aggregates: readonly LabelSelector[], rules: Map<string, PolicyRule>, visited: Set<string>): void {
    for (const [name, role] of this.#clusterRoles) {
      if (visited.has(name) || !aggregates.some((selector) => matchesLabels(selector, role.labels))) continue
      visited.add(name)
      if (role.aggregates) this.#sumUp(role.aggregates, rules, visited)
      else for (const rule of role.rules) rules.set(JSON.stringify(rule), rule)
    }
  }

  #bind(namespace: string, name: string, { role, subjects }: BindingFacts): void {
    if (!role) return
    const grants = subjects.map((subject) => ({ binding: name, namespace, role, subject }))
    this.#bindings.set(`${namespace}/${name}`, grants)
    const bySubject = this.#grants.get(namespace) ?? new Map<string, Set<Grant>>()
    this.#grants.set(namespace, bySubject)
    for (const grant of grants) {
      const key = subjectKey(grant.subject, namespace)
      if (key === undefined) continue
      const set = bySubject.get(key) ?? new Set()
      bySubject.set(key, set.add(grant))
    }
  }

  #unbind(namespace: string, name: string): void {
    const bySubject = this.#grants.get(namespace)
    for (const grant of this.#bindings.get(`${namespace}/${name}`) ?? []) {
      const key = subjectKey(grant.subject, namespace)
      const set = key === undefined ? undefined : bySubject?.get(key)
      set?.delete(grant)
      if (key !== undefined && set?.size === 0) bySubject?.delete(key)
    }
    this.#bindings.delete(`${namespace}/${name}`)
    if (bySubject?.size === 0) this.#grants.delete(namespace)
  }
}
