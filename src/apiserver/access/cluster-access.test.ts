import { afterEach, beforeEach, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { roleBindingKind, clusterRoleBindingKind } from '../../resources/role-binding.ts'
import { clusterRoleKind, roleKind } from '../../resources/role.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterApi } from '../cluster-api.ts'
import { ClusterAccess } from './cluster-access.ts'
import { readRules } from './roles/policy-rule.ts'
import { SigningKey } from './identity/signing-key.ts'
import { type User, anonymous } from './identity/user.ts'

let store: MemoryStore
let api: ClusterApi
let access: ClusterAccess
/** Enough turns of the event loop for a change to be seen, summed up and written. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function open(): Promise<void> {
  const signingKey = SigningKey.generatePem()
  access = new ClusterAccess({ store, log: silentLogger, signingKey, issuer: 'https://cluster/one' })
  api = new ClusterApi({
    store,
    kinds: [...coreKinds, ...customKinds],
    clock: new FakeClock(),
    admission: access.admission,
  })
  await access.start(api)
  await settled()
}

beforeEach(async () => {
  store = new MemoryStore()
  await open()
  await api.create(namespaceKind, undefined, { metadata: { name: 'team' } })
})

afterEach(() => access.stop())

const ada: User = { name: 'ada', groups: ['system:authenticated'] }
const path = (user: User, name: string) =>
  access.authorizer.decide(user, { type: 'path', verb: 'get', path: name }).allowed
const may = (verb: string, group: string, resource: string, user = ada) =>
  access.authorizer.decide(user, { type: 'resource', verb, group, resource, namespace: 'team' }).allowed
const bind = async (role: string) => {
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ada' }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role }
  await api.create(roleBindingKind, 'team', { metadata: { name: role }, roleRef, subjects })
  await settled()
}

it('shows anonymous health and version, and what is served to those it knows', () => {
  expect(['/healthz', '/livez', '/readyz', '/version'].every((name) => path(anonymous, name))).toBe(true)
  expect(['/api', '/metrics', '/openapi/v2', '/readyz/ping'].some((name) => path(anonymous, name))).toBe(false)
  expect(['/api', '/apis/sluice.dev/v1', '/openapi/v3'].every((name) => path(ada, name))).toBe(true)
  expect(path(ada, '/metrics')).toBe(false)
})

it('has roles to look, to edit and to administer, for our kinds too', async () => {
  await bind('view')
  expect([may('list', '', 'pods'), may('list', 'sluice.dev', 'models'), may('get', '', 'secrets')]).toEqual([
    true,
    true,
    false,
  ])
  expect(may('create', 'sluice.dev', 'models')).toBe(false)
  await bind('edit')
  expect([may('create', 'sluice.dev', 'models'), may('get', '', 'secrets')]).toEqual([true, true])
  expect(may('create', 'rbac.authorization.k8s.io', 'roles')).toBe(false)
  await bind('admin')
  expect(may('create', 'rbac.authorization.k8s.io', 'roles')).toBe(true)
  expect(may('create', '', 'resourcequotas')).toBe(false)
})

it('writes the sums into the roles that are sums, and keeps them right', async () => {
  const rulesOf = (name: string) => readRules(api.get(clusterRoleKind, { name })['rules'])
  expect(rulesOf('view').some(({ apiGroups }) => apiGroups.includes('sluice.dev'))).toBe(true)
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
  const rules = [{ apiGroups: ['load.example.com'], resources: ['widgets'], verbs: ['get'] }]
  await api.create(clusterRoleKind, undefined, { metadata: { name: 'widgets', labels }, rules })
  await settled()
  for (const name of ['view', 'edit', 'admin']) {
    expect(rulesOf(name).some(({ resources }) => resources.includes('widgets'))).toBe(true)
  }
})

it('puts back at the next start what is missing, and leaves what its owner added', async () => {
  await api.delete(clusterRoleBindingKind, { name: 'system:discovery' })
  const role = api.get(clusterRoleKind, { name: 'system:discovery' })
  const own = { nonResourceURLs: ['/own'], verbs: ['get'] }
  await api.update(clusterRoleKind, { name: 'system:discovery' }, { ...role, rules: [own] })
  const frozen = api.get(clusterRoleKind, { name: 'system:monitoring' })
  const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' }
  const emptied = { ...frozen, metadata: { ...frozen.metadata, annotations }, rules: [] }
  await api.update(clusterRoleKind, { name: 'system:monitoring' }, emptied)
  await access.stop()
  await open()
  expect([path(ada, '/api'), path(ada, '/own')]).toEqual([true, true])
  expect(readRules(api.get(clusterRoleKind, { name: 'system:monitoring' })['rules'])).toEqual([])
})

it('lets nobody give away what they do not hold, unless they may', async () => {
  await bind('admin')
  const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }]
  const create = (user: User | undefined, name: string) =>
    api.create(roleKind, 'team', { metadata: { name }, rules }, { user })
  await expect(create(ada, 'one')).rejects.toMatchObject({
    reason: 'Forbidden',
    message: expect.stringContaining('{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}') as string,
  })
  const escalate = [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['escalate'] }]
  await api.create(clusterRoleKind, undefined, { metadata: { name: 'escalate' }, rules: escalate })
  await bind('escalate')
  await create(ada, 'one')
  await create(undefined, 'two')
})
