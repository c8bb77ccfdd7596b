import { afterEach, beforeEach, expect, it } from 'vitest'
import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { MemoryStore } from '../../../store/memory-store.ts'
import type { PolicyRule } from './policy-rule.ts'
import { RbacAuthorizer } from './rbac-authorizer.ts'
import { RoleFollower } from './role-follower.ts'
import { rbacResources } from './role-objects.ts'
import { RoleTable } from './role-table.ts'
import type { User } from '../identity/user.ts'

let store: MemoryStore
let table: RoleTable
let authorizer: RbacAuthorizer
let stopping: AbortController

beforeEach(() => {
  // So short a buffer that a follower which falls behind must read everything again.
  store = new MemoryStore({ watchBuffer: 3 })
  table = new RoleTable()
  authorizer = new RbacAuthorizer(table)
  stopping = new AbortController()
  void new RoleFollower(store, table).follow(stopping.signal)
})

afterEach(() => stopping.abort())

const ada: User = { name: 'ada', groups: ['engineers', 'system:authenticated'] }
const settled = () => new Promise((resolve) => setImmediate(resolve))

async function write(resource: keyof typeof rbacResources, name: string, namespace: string, content: object) {
  const key = { resource: rbacResources[resource], namespace, name }
  const metadata = { name, ...(namespace !== '' && { namespace }) }
  const object: KubernetesObject = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: resource, metadata, ...content }
  const current = store.get(key)
  if (current) await store.update(key, object, current.revision)
  else await store.create(key, object)
  await settled()
}

const pods = (...verbs: string[]): Partial<PolicyRule> => ({ apiGroups: [''], resources: ['pods'], verbs })
const may = (verb: string, namespace?: string, name?: string, user = ada) =>
  authorizer.decide(user, { type: 'resource', verb, group: '', resource: 'pods', namespace, name })
const toUser = (name: string) => ({ kind: 'User', name })
const binding = (kind: string, name: string, ...subjects: object[]) => ({ roleRef: { kind, name }, subjects })

it('allows nothing that no role says, and tells which binding allows', async () => {
  expect(may('get', 'team')).toEqual({ allowed: false, reason: '' })
  await write('role', 'reader', 'team', { rules: [pods('get')] })
  await write('roleBinding', 'b', 'team', binding('Role', 'reader', toUser('ada')))
  expect(may('get', 'team')).toEqual({
    allowed: true,
    reason: 'RBAC: allowed by RoleBinding "b/team" of Role "reader" to User "ada"',
  })
  expect(may('list', 'team').allowed).toBe(false)
  expect(may('get', 'other').allowed).toBe(false)
  expect(may('get').allowed).toBe(false)
})

it('takes what is taken away at once', async () => {
  await write('role', 'reader', 'team', { rules: [pods('get')] })
  await write('roleBinding', 'b', 'team', binding('Role', 'reader', toUser('ada')))
  await write('role', 'reader', 'team', { rules: [pods('list')] })
  expect([may('get', 'team').allowed, may('list', 'team').allowed]).toEqual([false, true])
  await store.delete({ resource: rbacResources.roleBinding, namespace: 'team', name: 'b' })
  await settled()
  expect(may('list', 'team').allowed).toBe(false)
})

it('gives a ClusterRole in one namespace or in all of them', async () => {
  await write('clusterRole', 'reader', '', { rules: [pods('get'), { nonResourceURLs: ['/metrics'], verbs: ['get'] }] })
  await write('roleBinding', 'b', 'team', binding('ClusterRole', 'reader', { kind: 'Group', name: 'engineers' }))
  expect([may('get', 'team').allowed, may('get', 'other').allowed]).toEqual([true, false])
  const metrics = () => authorizer.decide(ada, { type: 'path', verb: 'get', path: '/metrics' }).allowed
  expect(metrics()).toBe(false)
  await write('clusterRoleBinding', 'b', '', binding('ClusterRole', 'reader', { kind: 'Group', name: 'engineers' }))
  expect([may('get', 'other').allowed, may('get').allowed, metrics()]).toEqual([true, true, true])
})

it('knows a service account by its namespace, or by that of the binding', async () => {
  await write('role', 'reader', 'team', { rules: [pods('get')] })
  const here = { kind: 'ServiceAccount', name: 'here' }
  const there = { kind: 'ServiceAccount', name: 'there', namespace: 'other' }
  await write('roleBinding', 'b', 'team', binding('Role', 'reader', here, there))
  const as = (name: string) =>
    may('get', 'team', undefined, { name: `system:serviceaccount:${name}`, groups: [] }).allowed
  expect([as('team:here'), as('other:there'), as('other:here')]).toEqual([true, true, false])
})

it('keeps to the names that a rule gives', async () => {
  await write('role', 'reader', 'team', { rules: [{ ...pods('get'), resourceNames: ['a'] }] })
  await write('roleBinding', 'b', 'team', binding('Role', 'reader', toUser('ada')))
  expect([may('get', 'team', 'a').allowed, may('get', 'team', 'b').allowed]).toEqual([true, false])
  expect(may('list', 'team').allowed).toBe(false)
})

it('sums up ClusterRoles by their labels, through several steps and in a circle', async () => {
  const sum = (label: string) => ({ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: 'true' } }] } })
  const labelled = (label: string) => ({ labels: { [label]: 'true' } })
  await write('clusterRole', 'edit', '', sum('to-edit'))
  const view = { ...sum('to-view'), metadata: { name: 'view', ...labelled('to-edit') } }
  await write('clusterRole', 'view', '', view)
  await write('clusterRole', 'part', '', { rules: [pods('get')], metadata: { name: 'part', ...labelled('to-view') } })
  await write('clusterRoleBinding', 'b', '', binding('ClusterRole', 'edit', toUser('ada')))
  expect(may('get').allowed).toBe(true)
  await write('clusterRole', 'edit', '', { ...sum('to-edit'), metadata: { name: 'edit', ...labelled('to-view') } })
  expect(may('get').allowed).toBe(true)
  await store.delete({ resource: rbacResources.clusterRole, namespace: '', name: 'part' })
  await settled()
  expect(may('get').allowed).toBe(false)
})

it('says which role is missing', async () => {
  await write('roleBinding', 'b', 'team', binding('ClusterRole', 'ghost', toUser('ada')))
  const reason = 'RBAC: clusterrole.rbac.authorization.k8s.io "ghost" not found'
  expect(may('get', 'team')).toEqual({ allowed: false, reason })
  expect(authorizer.rulesOf(ada, 'team').error).toBe(reason.slice('RBAC: '.length))
})

it('lets masters do everything, roles or not', () => {
  expect(may('get', 'team', 'x', { name: 'root', groups: ['system:masters'] }).allowed).toBe(true)
})

it('reads everything again when it fell behind', async () => {
  const key = (name: string) => ({ resource: rbacResources.role, namespace: 'team', name })
  await write('role', 'reader', 'team', { rules: [pods('get')] })
  await write('roleBinding', 'b', 'team', binding('Role', 'reader', toUser('ada')))
  // Without a turn of the event loop between them the follower has no chance to keep up.
  const role = (name: string) => ({ apiVersion: '', kind: 'Role', metadata: { name, namespace: 'team' } })
  for (const name of ['a', 'b', 'c', 'd', 'e']) void store.create(key(name), role(name))
  void store.delete(key('reader'))
  await settled()
  expect(may('get', 'team').reason).toContain('"reader" not found')
})
