import { describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { configMapKind } from '../../resources/config-map.ts'
import { deploymentKind } from '../../resources/deployment.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { podKind } from '../../resources/pod.ts'
import {
  validatingAdmissionPolicyBindingKind,
  validatingAdmissionPolicyKind,
} from '../../resources/validating-admission-policy.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { mastersOnly } from '../access/roles/rbac-authorizer.ts'
import { ClusterApi } from '../cluster-api.ts'
import { PolicyAdmission, policiesCompile } from './policy-admission.ts'
import { threadMs } from '../test-support/thread-time.fixture.ts'

// What policies do is shown in tests/kubernetes/admission-policies.test.ts, on a real server too. Here is what only
// this server has to withstand.

const user = { name: 'alice', groups: ['system:authenticated'] }

function open(store = new MemoryStore()) {
  const plugins = [new PolicyAdmission({ store, authorizer: mastersOnly, kinds: () => api.kinds.list() })]
  const kinds = [...coreKinds, ...customKinds]
  const api: ClusterApi = new ClusterApi({ store, kinds, clock: systemClock, plugins, admission: [policiesCompile] })
  return { store, api }
}

async function opened() {
  const { store, api } = open()
  await api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
  return { store, api }
}

async function enforce(api: ClusterApi, resource: string, spec: Record<string, unknown>) {
  const rule = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [resource] }
  await api.create(validatingAdmissionPolicyKind, undefined, {
    metadata: { name: 'p' },
    spec: { matchConstraints: { resourceRules: [rule] }, ...spec },
  })
  await api.create(validatingAdmissionPolicyBindingKind, undefined, {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'] },
  })
}

const never = { validations: [{ expression: 'false', message: 'never' }] }
const mapNamed = (name: string, data: Record<string, string> = {}) => ({ metadata: { name }, data })

describe('policies', () => {
  it('count after a restart, and no more once their binding is gone', async () => {
    const { store, api } = await opened()
    await enforce(api, 'configmaps', never)
    const { api: next } = open(store)
    await expect(next.create(configMapKind, 'default', mapNamed('a'), { user })).rejects.toThrow('never')
    await next.delete(validatingAdmissionPolicyBindingKind, { name: 'b' }, {}, { user })
    await expect(next.create(configMapKind, 'default', mapNamed('a'), { user })).resolves.toBeDefined()
  })

  it('can always be mended, even those that forbid everything', async () => {
    const { api } = await opened()
    await enforce(api, '*', never)
    await expect(api.create(configMapKind, 'default', mapNamed('a'), { user })).rejects.toThrow('never')
    await expect(api.delete(validatingAdmissionPolicyKind, { name: 'p' }, {}, { user })).resolves.toBeDefined()
  })

  it('hold for what controllers make of what people ask for, and not for what the cluster itself needs', async () => {
    const { api } = await opened()
    await enforce(api, '*', never)
    await expect(api.create(configMapKind, 'default', mapNamed('own'))).resolves.toBeDefined()
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u', controller: true }
    const pod = {
      metadata: { name: 'p', ownerReferences: [owner] },
      spec: { containers: [{ name: 'main', image: 'i' }] },
    }
    await expect(api.create(podKind, 'default', pod)).rejects.toThrow('never')
  })

  it('are not about the scale of what they are about', async () => {
    const { api } = await opened()
    const labels = { app: 'web' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'i' }] } }
    const spec = { selector: { matchLabels: labels }, template }
    const made = await api.create(deploymentKind, 'default', { metadata: { name: 'web' }, spec }, { user })
    await enforce(api, 'deployments', never)
    const scaled = { spec: { replicas: 3 } }
    await expect(api.patch(deploymentKind, made.metadata, () => scaled, { user }, 'scale')).resolves.toBeDefined()
    await expect(
      api.patch(deploymentKind, made.metadata, (was) => ({ ...was, spec: { ...spec, replicas: 4 } }), { user }),
    ).rejects.toThrow('never')
  })

  it.each([
    ['in one expression', [], 'object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a != b))))'],
    [
      'through variables',
      [
        { name: 'two', expression: 'object.data.map(a, object.data.map(b, a))' },
        { name: 'four', expression: 'variables.two.map(a, variables.two.map(b, a + b))' },
      ],
      'size(variables.four) > 0',
    ],
    [
      'by a value that holds another again and again',
      Array.from({ length: 60 }, (_, index) => ({
        name: `v${index}`,
        expression: index === 0 ? '[1, 2]' : `[variables.v${index - 1}, variables.v${index - 1}]`,
      })),
      'size(variables.v59) > 0',
    ],
  ])('are stopped before they run too long: %s', async (_where, variables, expression) => {
    const { api } = await opened()
    await enforce(api, 'configmaps', { variables, validations: [{ expression }] })
    const data = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key-${index}`, String(index)]))
    const before = threadMs()
    await expect(api.create(configMapKind, 'default', mapNamed('large', data), { user })).rejects.toThrow(
      'cost limit exceeded',
    )
    expect(threadMs() - before).toBeLessThan(5_000)
  })
})
