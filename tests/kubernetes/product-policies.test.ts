import { afterEach, expect, it } from 'vitest'
import { productBindings, productPolicies } from '../../src/resources/product-policies.ts'
import { askUntil } from './ask-until.ts'
import type { ContractServer } from './contract-server.ts'
import { followParameters } from './followed-parameters.ts'
import { onEachServer } from './on-each-server.ts'

// The embedded server has these rules without the policies; a real one has them from the chart's file.

const made: string[] = []
const registry = 'registry.lab-1.localhost'
const group = '/apis/admissionregistration.k8s.io/v1'

/** The chart's policies, for the test's namespace only: all tests share a server. */
async function install(server: ContractServer): Promise<void> {
  const { namespace } = server
  const parameters = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'sluice-policies' }, data: { registry } }
  await server.ok('POST', server.path('configmaps'), parameters)
  for (const policy of productPolicies) {
    const name = `${policy.metadata.name}-${namespace}`
    await server.ok('POST', `${group}/validatingadmissionpolicies`, { ...policy, metadata: { name } })
    made.push(`${group}/validatingadmissionpolicies/${name}`)
  }
  for (const { apiVersion, kind, metadata, spec } of productBindings) {
    const name = `${metadata.name}-${namespace}`
    const matchResources = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } }
    const paramRef = 'paramRef' in spec && { paramRef: { ...spec.paramRef, namespace } }
    const here = { ...spec, policyName: name, matchResources, ...paramRef }
    await server.ok('POST', `${group}/validatingadmissionpolicybindings`, {
      apiVersion,
      kind,
      metadata: { name },
      spec: here,
    })
    made.push(`${group}/validatingadmissionpolicybindings/${name}`)
  }
}

onEachServer((server) => {
  afterEach(async () => {
    for (const path of made.splice(0).toReversed()) await server.http('DELETE', path)
  })

  const codeOf = async (resource: string, apiVersion: string, object: object) => {
    const path = `${server.path(resource, apiVersion)}?dryRun=All`
    return (await server.http('POST', path, { apiVersion, metadata: { name: 'x' }, ...object })).code
  }
  const podOf = (image: string) => ({ containers: [{ name: 'main', image }] })
  const pod = (image: string) => codeOf('pods', 'v1', { kind: 'Pod', spec: podOf(image) })
  const template = (image: string) => ({ metadata: { labels: { a: 'b' } }, spec: podOf(image) })
  const deployment = (image: string) => {
    const spec = { selector: { matchLabels: { a: 'b' } }, template: template(image) }
    return codeOf('deployments', 'apps/v1', { kind: 'Deployment', spec })
  }
  const service = (type: string) => codeOf('services', 'v1', { kind: 'Service', spec: { type, ports: [{ port: 80 }] } })

  it('the product’s own rules decide alike', async () => {
    await followParameters(server)
    await install(server)
    // A real server hears of policies and their parameters a moment later.
    await askUntil(
      () => pod('nginx'),
      (code) => code === 422,
    )
    await askUntil(
      () => service('NodePort'),
      (code) => code === 422,
    )
    await askUntil(
      () => pod(`${registry}/a:1`),
      (code) => code === 201,
    )
    expect(await pod('nginx')).toBe(422)
    expect(await pod(`${registry}.evil.example/a:1`)).toBe(422)
    expect(await deployment('nginx')).toBe(422)
    expect(await deployment(`${registry}/a:1`)).toBe(201)
    expect(await codeOf('podtemplates', 'v1', { kind: 'PodTemplate', template: template('nginx') })).toBe(422)
    expect(await service('ClusterIP')).toBe(201)
    expect(await service('LoadBalancer')).toBe(422)
  })
})
