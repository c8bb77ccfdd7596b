import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { validatingAdmissionPolicySchema } from '../../resources/admission-policy-schemas.ts'
import { deploymentKind } from '../../resources/deployment.ts'
import { jobKind } from '../../resources/job.ts'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { controllerUser } from '../../resources/model-labels.ts'
import { modelKind } from '../../resources/model.ts'
import { podTemplateKind } from '../../resources/pod-template-kind.ts'
import { podKind, podSchema } from '../../resources/pod.ts'
import { policyFile } from '../../resources/policy-file.ts'
import { productPolicies } from '../../resources/product-policies.ts'
import { serviceKind, serviceSchema } from '../../resources/service.ts'
import type { User } from '../access/identity/user.ts'
import type { AdmissionRequest } from '../admission/admission.ts'
import { imagesFrom } from '../admission/image-registry-rule.ts'
import { modelsIn } from '../admission/model-namespace-rule.ts'
import { modelPodsAreMadeHere } from '../admission/model-pod-rule.ts'
import { CompiledPolicy } from './compiled-policy.ts'
import { PolicyAuthorizer } from './policy-authorizer.ts'

const registry = 'registry.north-1.localhost'
const user = { name: 'alice', groups: [] }

function judge(
  policyName: string,
  kind: Kind,
  object: KubernetesObject,
  previous?: KubernetesObject,
  by: User = user,
): string[] {
  const found = productPolicies.find(({ metadata }) => metadata.name === policyName)
  const compiled = new CompiledPolicy(validatingAdmissionPolicySchema.parse(found))
  expect(compiled.faults).toEqual([])
  const { group, version } = kind
  const request = {
    kind: { group, version, kind: kind.kind },
    namespace: object.metadata.namespace ?? '',
    operation: previous ? 'UPDATE' : 'CREATE',
    userInfo: { username: by.name, groups: by.groups },
  }
  const input = { object, oldObject: previous ?? null, request, namespaceObject: null }
  const about = { group, resource: kind.plural, name: object.metadata.name }
  const nobody = new PolicyAuthorizer(user, () => ({ allowed: false, reason: '' }), about)
  return compiled.judge({ ...input, params: { data: { registry } } }, nobody).violations.map(({ message }) => message)
}

/** What the embedded server's own rule says, without the field. */
const said = (errors: ReturnType<ReturnType<typeof imagesFrom>>) =>
  errors.slice(0, 1).map(({ message }) => message.replace(/^Forbidden: /, ''))

const specOf = (image: string | undefined, more: object = {}) => ({ containers: [{ name: 'c', image }], ...more })
const named = (kind: string, content: object): KubernetesObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'x', namespace: 'default' },
  ...content,
})
const templated = (image: string, replicas = 1) =>
  named('Deployment', { spec: { replicas, template: { spec: specOf(image) } } })
const own = `${registry}/a:1`
const ownedBy = (kind: string, uid: string, apiVersion = 'sluice.dev/v1') => ({
  apiVersion,
  kind,
  name: 'x',
  uid,
  controller: true,
})

const cases: ReadonlyArray<[string, Kind, KubernetesObject, KubernetesObject?]> = [
  ['an image of the registry', podKind, named('Pod', { spec: specOf(own) })],
  ['a foreign one', podKind, named('Pod', { spec: specOf('docker.io/nginx') })],
  ['none', podKind, named('Pod', { spec: specOf(undefined) })],
  ['the registry itself', podKind, named('Pod', { spec: specOf(registry) })],
  ['one that begins alike', podKind, named('Pod', { spec: specOf(`${registry}.evil.example/x`) })],
  [
    'a foreign one before',
    podKind,
    named('Pod', { spec: specOf(own, { initContainers: [{ name: 'i', image: 'b' }] }) }),
  ],
  [
    'one to look at',
    podKind,
    named('Pod', { spec: specOf(own, { ephemeralContainers: [{ name: 'e', image: 'b' }] }) }),
  ],
  ['a Pod that has it already', podKind, named('Pod', { spec: specOf('b') }), named('Pod', { spec: specOf('b') })],
  ['a template', deploymentKind, templated('b')],
  ['a template of the registry', deploymentKind, templated(own)],
  ['one that has it already', deploymentKind, templated('b', 3), templated('b')],
  ['one that gets it', deploymentKind, templated('b'), templated(own)],
  ['a Job', jobKind, named('Job', { spec: { template: { spec: specOf('b') } } })],
  ['what is only written down', podTemplateKind, named('PodTemplate', { template: { spec: specOf('b') } })],
]

describe('the policies for a real Kubernetes decide as the embedded cluster does', () => {
  it.each(cases)('about images: %s', (_what, kind, object, previous) => {
    const request: AdmissionRequest = { operation: previous ? 'update' : 'create', kind, object, previous, user }
    expect(judge('sluice-images', kind, object, previous)).toEqual(said(imagesFrom(registry)(request)))
  })

  it.each(['default', 'sluice'])('about a Model in the namespace %s', (namespace) => {
    const object = { apiVersion: 'sluice.dev/v1', kind: 'Model', metadata: { name: 'm', namespace } }
    const rule = modelsIn('sluice')({ operation: 'create', kind: modelKind, object, user })
    expect(judge('sluice-model-namespace', modelKind, object)).toEqual(said(rule))
  })

  it.each([
    ['of nobody', [], undefined, user],
    ['of a Model', [ownedBy('Model', 'm1')], undefined, user],
    ['of a Model, made by the controller', [ownedBy('Model', 'm1')], undefined, { name: controllerUser, groups: [] }],
    ['that had that Model before', [ownedBy('Model', 'm1')], [ownedBy('Model', 'm1')], user],
    ['that had another Model before', [ownedBy('Model', 'm1')], [ownedBy('Model', 'm2')], user],
    ['of something else of that name', [ownedBy('Model', 'm1', 'example.com/v1')], undefined, user],
    ['of a Job', [ownedBy('Job', 'j1', 'batch/v1')], undefined, user],
  ])('about a Pod %s', (_what, owners, before, by) => {
    const podWith = (ownerReferences: readonly object[]) => ({
      ...named('Pod', { spec: specOf(own) }),
      metadata: { name: 'x', namespace: 'sluice', ownerReferences },
    })
    const object = podSchema.parse(podWith(owners))
    const previous = before && podSchema.parse(podWith(before))
    const operation = previous ? 'update' : 'create'
    const rule = modelPodsAreMadeHere({ operation, kind: podKind, object, previous, user: by })
    expect(judge('sluice-model-pods', podKind, object, previous, by)).toEqual(said(rule))
  })

  it.each(['ClusterIP', 'NodePort', 'LoadBalancer'])('about a Service of type %s', (type) => {
    const ports = [{ port: 80, protocol: 'TCP' }]
    const object = serviceSchema.parse(named('Service', { spec: { type, ports, selector: { a: 'b' } } }))
    const refused = (serviceKind.validate?.(object, undefined) ?? []).filter(({ field }) => field === 'spec.type')
    expect(judge('sluice-node-ports', serviceKind, object)).toEqual(said(refused))
  })

  it('are in the chart as they are here', () => {
    const path = join(import.meta.dirname, '../../../charts/sluice/policies/policies.yaml')
    expect(readFileSync(path, 'utf8')).toBe(policyFile())
  })
})
