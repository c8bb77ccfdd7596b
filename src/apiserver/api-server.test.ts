import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../resources/config-map.ts'
import { ApiServerStage, type Reply, maps, models, pods } from './test-support/api-server-stage.fixture.ts'
import { type TestCertificates, createTestCertificates } from './test-support/certificates.fixture.ts'

let certificates: TestCertificates
let stage: ApiServerStage

beforeAll(async () => {
  certificates = await createTestCertificates('CN=ada, O=engineers')
})

beforeEach(async () => {
  stage = new ApiServerStage(certificates)
  await stage.start()
})

afterEach(() => stage.stop())

const model = { metadata: { name: 'm' }, spec: { url: 'pvc://userdata/m', engine: 'LlamaCpp' } }
const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'main', image: 'app:1' }] } })

describe('who may come in', () => {
  it.each(['/healthz', '/livez', '/readyz', '/vks/one/healthz', '/vks/one/readyz'])(
    'answers %s for everyone',
    async (path) => {
      expect(await stage.send('GET', path, { token: null })).toMatchObject({ code: 200, text: 'ok' })
    },
  )

  it('tells everyone its version', async () => {
    const { json } = await stage.call('GET', '/version', { token: null })
    expect(json).toMatchObject({ major: '1', minor: '34', gitVersion: 'v1.34.0+sluice.0.1.0' })
  })

  it.each([
    ['a wrong token', '/vks/one/api/v1/secrets', 'secret-tokem'],
    ['the metrics of the listener', '/metrics', null],
  ])('answers 401 for %s', async (_who, path, token) => {
    const { code, json } = await stage.send('GET', path, { token })
    expect(code).toBe(401)
    expect(json).toMatchObject({ kind: 'Status', reason: 'Unauthorized', message: 'Unauthorized' })
  })

  it('answers 403 for somebody who shows nothing', async () => {
    const { json } = await stage.call('GET', '/api', { token: null })
    const message = 'forbidden: User "system:anonymous" cannot get path "/api"'
    expect(json).toMatchObject({ kind: 'Status', code: 403, reason: 'Forbidden', message })
  })

  it.each(['/vks/two/api', '/vks/two/healthz', '/vks', '/api'])('answers 404 for %s: no cluster', async (path) => {
    expect((await stage.send('GET', path)).json).toMatchObject({ kind: 'Status', code: 404, reason: 'NotFound' })
  })

  it('knows the subject of a client certificate, and asks what it may do', async () => {
    const client = certificates.client
    expect((await stage.call('GET', maps, { token: null, client })).code).toBe(200)
    const refused = await stage.call('DELETE', `${maps}/x`, { token: null, client })
    const where = 'in API group "" in the namespace "default"'
    const message = `configmaps "x" is forbidden: User "ada" cannot delete resource "configmaps" ${where}: ada may not delete`
    expect(refused.json).toMatchObject({ code: 403, message, details: { name: 'x', kind: 'configmaps' } })
    const other = (await createTestCertificates('CN=ada')).client
    expect((await stage.call('GET', maps, { token: null, client: other })).code).toBe(401)
  })

  it('never logs tokens or the content of Secrets', async () => {
    const body = { metadata: { name: 's' }, stringData: { key: 'very-private' } }
    expect((await stage.call('POST', '/api/v1/namespaces/default/secrets', { body })).code).toBe(201)
    const broken = await stage.call('POST', '/api/v1/namespaces/default/secrets', {
      body: '{"stringData": "very-private',
    })
    expect(broken.code).toBe(400)
    expect(broken.text).not.toContain('very-private')
    expect(stage.logLines.length).toBeGreaterThan(0)
    expect(stage.logLines.join('')).not.toMatch(/very-private|secret-token/)
  })
})

describe('health', () => {
  it('tells what is in order, line by line', async () => {
    const { text } = await stage.call('GET', '/readyz?verbose', { token: null })
    expect(text).toBe('[+]ping ok\n[+]store ok\n[+]shutdown ok\nreadyz check passed\n')
    expect((await stage.call('GET', '/livez?verbose&exclude=store', { token: null })).text).toBe(
      '[+]ping ok\n[+]store excluded: ok\nlivez check passed\n',
    )
    expect(await stage.call('GET', '/readyz/store')).toMatchObject({ code: 200, text: 'ok' })
    expect((await stage.call('GET', '/readyz/unicorn')).code).toBe(404)
  })

  it('fails with what is not, for the cluster and for the listener', async () => {
    stage.storeIsHealthy = false
    const { code, text } = await stage.call('GET', '/readyz', { token: null })
    expect([code, text]).toEqual([
      500,
      '[+]ping ok\n[-]store failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n',
    ])
    expect(await stage.send('GET', '/livez', { token: null })).toMatchObject({
      code: 500,
      text: '[+]ping ok\n[-]clusters failed: reason withheld\nlivez check failed\n',
    })
  })
})

describe('discovery', () => {
  it('lists groups and resources, plain and in one piece', async () => {
    expect((await stage.call('GET', '/api')).json).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
    expect((await stage.call('GET', '/apis')).json).toMatchObject({
      kind: 'APIGroupList',
      groups: expect.arrayContaining([
        expect.objectContaining({ name: 'discovery.k8s.io' }),
        expect.objectContaining({
          name: 'sluice.dev',
          preferredVersion: { groupVersion: 'sluice.dev/v1', version: 'v1' },
        }),
      ]),
    })
    const resources = (await stage.call('GET', '/apis/sluice.dev/v1')).json['resources'] as Array<
      Record<string, unknown>
    >
    expect(resources.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['models', 'models/status', 'models/scale']),
    )
    expect(resources.find(({ name }) => name === 'models/scale')).toMatchObject({ group: 'autoscaling', kind: 'Scale' })
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
    const aggregated = await stage.call('GET', '/apis', { headers: { accept } })
    expect(aggregated.headers['content-type']).toContain('as=APIGroupDiscoveryList')
    expect(aggregated.json['items']).toContainEqual(expect.objectContaining({ metadata: { name: 'sluice.dev' } }))
  })

  it('says in OpenAPI that it validates fields itself', async () => {
    const index = (await stage.call('GET', '/openapi/v3')).json['paths'] as Record<
      string,
      { serverRelativeURL: string }
    >
    const document = (await stage.send('GET', index['apis/sluice.dev/v1']?.serverRelativeURL ?? '')).json
    expect(document).toMatchObject({
      paths: {
        '/apis/sluice.dev/v1/namespaces/{namespace}/models/{name}': {
          patch: {
            parameters: expect.arrayContaining([expect.objectContaining({ name: 'fieldValidation' })]),
            'x-kubernetes-group-version-kind': { kind: 'Model' },
          },
        },
      },
      components: { schemas: { 'dev.sluice.v1.Model': { type: 'object' } } },
    })
  })
})

describe('verbs', () => {
  it('walks an object from create to delete', async () => {
    const created = await stage.call('POST', models, { body: model })
    expect(created).toMatchObject({ code: 201, json: { kind: 'Model', metadata: { generation: 1 } } })
    expect((await stage.call('GET', `${models}/m`)).json).toEqual(created.json)
    const patched = await stage.call('PATCH', `${models}/m`, {
      body: { spec: { maxReplicas: 2 } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expect(patched.json).toMatchObject({ spec: { maxReplicas: 2 }, metadata: { generation: 2 } })
    const stale = await stage.call('PUT', `${models}/m`, { body: created.json })
    expect(stale.json).toMatchObject({ code: 409, reason: 'Conflict' })
    const status = await stage.call('PUT', `${models}/m/status`, {
      body: { ...patched.json, status: { phase: 'Asleep' } },
    })
    expect(status.json).toMatchObject({ status: { phase: 'Asleep' } })
    const deleted = await stage.call('DELETE', `${models}/m`, { body: { propagationPolicy: 'Background' } })
    expect(deleted).toMatchObject({ code: 200, json: { status: 'Success', details: { kind: 'models', name: 'm' } } })
    expect((await stage.call('GET', `${models}/m`)).json).toMatchObject({ code: 404, reason: 'NotFound' })
  })

  it('answers a broken rule with the causes kubectl prints', async () => {
    const { json } = await stage.call('POST', models, { body: { ...model, spec: { ...model.spec, url: 'http://x' } } })
    expect(json).toMatchObject({ code: 422, reason: 'Invalid', details: { causes: [{ field: 'spec.url' }] } })
  })

  it('warns of unknown fields in a header', async () => {
    const body = { ...model, spec: { ...model.spec, colour: 'blue' } }
    const { headers } = await stage.call('POST', models, { body })
    expect(headers['warning']).toBe('299 - "unknown field \\"spec.colour\\""')
    expect((await stage.call('POST', `${models}?fieldValidation=Strict`, { body })).code).toBe(400)
  })

  it('lists in pages, by labels and by fields', async () => {
    for (const name of ['a', 'b', 'c']) {
      await stage.api.create(configMapKind, 'default', { metadata: { name, labels: { odd: String(name !== 'b') } } })
    }
    const names = ({ json }: Reply) =>
      (json['items'] as Array<{ metadata: { name: string } }>).map(({ metadata }) => metadata.name)
    expect(names(await stage.call('GET', `${maps}?labelSelector=odd%3Dtrue`))).toEqual(['a', 'c'])
    expect(names(await stage.call('GET', `${maps}?fieldSelector=metadata.name%3Db`))).toEqual(['b'])
    const first = await stage.call('GET', '/api/v1/configmaps?limit=2')
    const { continue: token, remainingItemCount } = first.json['metadata'] as Record<string, unknown>
    expect([names(first), remainingItemCount]).toEqual([['a', 'b'], 1])
    expect(names(await stage.call('GET', `/api/v1/configmaps?limit=2&continue=${String(token)}`))).toEqual(['c'])
  })

  it('scales through the scale subresource', async () => {
    await stage.call('POST', models, { body: model })
    const headers = { 'content-type': 'application/merge-patch+json' }
    const scaled = await stage.call('PATCH', `${models}/m/scale`, { body: { spec: { replicas: 1 } }, headers })
    expect(scaled.json).toMatchObject({ kind: 'Scale', spec: { replicas: 1 } })
    expect((await stage.call('GET', `${models}/m/scale`)).json).toMatchObject({ spec: { replicas: 1 } })
    expect((await stage.call('GET', `${maps}/m/scale`)).code).toBe(404)
  })

  it('shows tables and bare metadata', async () => {
    await stage.call('POST', models, { body: model })
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
    const table = (await stage.call('GET', models, { headers: { accept } })).json
    expect(table).toMatchObject({ kind: 'Table', rows: [{ object: { kind: 'PartialObjectMetadata' } }] })
    const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
    const list = (await stage.call('GET', models, { headers: { accept: partial } })).json
    expect(list).toMatchObject({ kind: 'PartialObjectMetadataList', items: [{ metadata: { name: 'm' } }] })
  })

  it('streams a log, and refuses one that cannot be read', async () => {
    const hosted = (name: string) => ({ ...pod(name), spec: { ...pod(name).spec, nodeName: 'here' } })
    await stage.call('POST', pods, { body: hosted('p') })
    await stage.call('POST', pods, { body: hosted('silent') })
    await stage.call('POST', pods, { body: pod('homeless') })
    expect(await stage.call('GET', `${pods}/homeless/log`)).toMatchObject({ code: 204, text: '' })
    const log = await stage.call('GET', `${pods}/p/log?tailLines=5&timestamps=true`)
    expect(log).toMatchObject({ code: 200, text: 'first\nsecond\n' })
    expect(stage.logRequests[0]).toMatchObject({ container: 'main', tailLines: 5, timestamps: true, follow: false })
    expect((await stage.call('GET', `${pods}/p/log?limitBytes=8`)).text).toBe('first\nse')
    expect((await stage.call('GET', `${pods}/silent/log?follow=true`)).json).toMatchObject({ code: 400 })
    expect((await stage.call('GET', `${pods}/p/log?container=other`)).json).toMatchObject({
      message: 'container other is not valid for pod p',
    })
  })
})

it('counts requests under names of its own, whatever clients write', async () => {
  await stage.call('GET', maps)
  await stage.call('GET', '/api/v1/unicorns')
  await stage.call('GET', '/unicorns')
  await stage.call('GET', `${pods}/p/unicorns`)
  await stage.call('PURGE', maps)
  const { text } = await stage.send('GET', '/metrics')
  expect(text).toContain('sluice_apiserver_requests_total{verb="list",resource="configmaps",code="200"} 1')
  expect(text).not.toMatch(/unicorns|purge/i)
})
