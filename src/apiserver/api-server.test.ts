import { once } from 'node:events'
import { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { createLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { configMapKind } from '../resources/config-map.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { StatusError } from '../resources/status-error.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { mastersOnly } from './access/rbac-authorizer.ts'
import { ApiServer } from './api-server.ts'
import { certificateUsers, firstKnown, knownTokens } from './authentication.ts'
import { type TestCertificates, createTestCertificates } from './certificates.fixture.ts'
import { ClusterApi } from './cluster-api.ts'
import type { LogOptions } from './pod-access.ts'

interface Reply {
  readonly code: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly json: Record<string, unknown>
}

let certificates: TestCertificates
let server: ApiServer
let api: ClusterApi
let clock: FakeClock
let port: number
let logLines: string[]
let logRequests: LogOptions[]
let storeIsHealthy = true
const agents: Agent[] = []

beforeAll(async () => {
  certificates = await createTestCertificates('CN=ada, O=engineers')
})

beforeEach(async () => {
  clock = new FakeClock()
  logLines = []
  logRequests = []
  storeIsHealthy = true
  const log = createLogger({ level: 'debug', destination: { write: (line) => void logLines.push(line) } })
  api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
  const tls = { ...certificates.server, ca: certificates.ca }
  const limits = { watchesPerUser: 2, bodyBytes: 64 * 1024, jsonDepth: 20 }
  server = new ApiServer({ tls, log, clock, metrics: new Metrics(), limits })
  server.mount({
    id: 'one',
    api,
    podAccess: {
      async *logs(pod, options) {
        logRequests.push(options)
        if (pod.metadata.name === 'silent') throw new StatusError('BadRequest', 'container "main" has not started')
        yield Buffer.from('first\n')
        yield Buffer.from('second\n')
      },
    },
    authenticate: firstKnown(
      knownTokens([{ token: 'secret-token', user: { name: 'admin', groups: ['system:masters'] } }]),
      certificateUsers(certificates.ca),
    ),
    authorizer: {
      ...mastersOnly,
      decide(user, attempt) {
        if (user.name === 'ada') return { allowed: attempt.verb !== 'delete', reason: 'ada may not delete' }
        return mastersOnly.decide(user, attempt)
      },
    },
    checks: [{ name: 'store', isHealthy: () => storeIsHealthy }],
  })
  port = (await server.listen('127.0.0.1', 0)).port
})

afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy()
  await server.close(0)
})

interface CallOptions {
  readonly headers?: OutgoingHttpHeaders
  readonly body?: unknown
  readonly token?: string | null
  readonly client?: { readonly key: string; readonly cert: string }
}

async function open(method: string, path: string, options: CallOptions = {}): Promise<IncomingMessage> {
  const agent = new Agent({ ca: certificates.ca, ...options.client })
  agents.push(agent)
  const token = options.token === undefined ? 'secret-token' : options.token
  const body = typeof options.body === 'string' ? options.body : options.body && JSON.stringify(options.body)
  const headers = {
    ...(typeof body === 'string' && { 'content-length': Buffer.byteLength(body) }),
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(options.body !== undefined && { 'content-type': 'application/json' }),
    ...options.headers,
  }
  const call = httpsRequest({ host: '127.0.0.1', port, method, path, headers, agent })
  const answered = once(call, 'response') as Promise<[IncomingMessage]>
  call.end(body)
  return (await answered)[0]
}

async function send(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
  const response = await open(method, path, options)
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  const isJson = (response.headers['content-type'] ?? '').startsWith('application/json')
  const json = isJson && !text.includes('\n{') ? (JSON.parse(text) as Record<string, unknown>) : {}
  return { code: response.statusCode ?? 0, headers: response.headers, text, json }
}

const call = (method: string, path: string, options?: CallOptions) => send(method, `/vks/one${path}`, options)
const maps = '/api/v1/namespaces/default/configmaps'
const pods = '/api/v1/namespaces/default/pods'
const models = '/apis/sluice.dev/v1/namespaces/default/models'
const model = { metadata: { name: 'm' }, spec: { url: 'pvc://userdata/m', engine: 'LlamaCpp' } }
const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'main', image: 'app:1' }] } })

describe('who may come in', () => {
  it.each(['/healthz', '/livez', '/readyz', '/vks/one/healthz', '/vks/one/readyz'])(
    'answers %s for everyone',
    async (path) => {
      expect(await send('GET', path, { token: null })).toMatchObject({ code: 200, text: 'ok' })
    },
  )

  it('tells everyone its version', async () => {
    const { json } = await call('GET', '/version', { token: null })
    expect(json).toMatchObject({ major: '1', minor: '34', gitVersion: 'v1.34.0+sluice.0.1.0' })
  })

  it.each([
    ['a wrong token', '/vks/one/api/v1/secrets', 'secret-tokem'],
    ['the metrics of the listener', '/metrics', null],
  ])('answers 401 for %s', async (_who, path, token) => {
    const { code, json } = await send('GET', path, { token })
    expect(code).toBe(401)
    expect(json).toMatchObject({ kind: 'Status', reason: 'Unauthorized', message: 'Unauthorized' })
  })

  it('answers 403 for somebody who shows nothing', async () => {
    const { json } = await call('GET', '/api', { token: null })
    const message = 'forbidden: User "system:anonymous" cannot get path "/api"'
    expect(json).toMatchObject({ kind: 'Status', code: 403, reason: 'Forbidden', message })
  })

  it.each(['/vks/two/api', '/vks/two/healthz', '/vks', '/api'])('answers 404 for %s: no cluster', async (path) => {
    expect((await send('GET', path)).json).toMatchObject({ kind: 'Status', code: 404, reason: 'NotFound' })
  })

  it('knows the subject of a client certificate, and asks what it may do', async () => {
    const client = certificates.client
    expect((await call('GET', maps, { token: null, client })).code).toBe(200)
    const refused = await call('DELETE', `${maps}/x`, { token: null, client })
    const where = 'in API group "" in the namespace "default"'
    const message = `configmaps "x" is forbidden: User "ada" cannot delete resource "configmaps" ${where}: ada may not delete`
    expect(refused.json).toMatchObject({ code: 403, message, details: { name: 'x', kind: 'configmaps' } })
    const other = (await createTestCertificates('CN=ada')).client
    expect((await call('GET', maps, { token: null, client: other })).code).toBe(401)
  })

  it('never logs tokens or the content of Secrets', async () => {
    const body = { metadata: { name: 's' }, stringData: { key: 'very-private' } }
    expect((await call('POST', '/api/v1/namespaces/default/secrets', { body })).code).toBe(201)
    const broken = await call('POST', '/api/v1/namespaces/default/secrets', { body: '{"stringData": "very-private' })
    expect(broken.code).toBe(400)
    expect(broken.text).not.toContain('very-private')
    expect(logLines.length).toBeGreaterThan(0)
    expect(logLines.join('')).not.toMatch(/very-private|secret-token/)
  })
})

describe('health', () => {
  it('tells what is in order, line by line', async () => {
    const { text } = await call('GET', '/readyz?verbose', { token: null })
    expect(text).toBe('[+]ping ok\n[+]store ok\n[+]shutdown ok\nreadyz check passed\n')
    expect((await call('GET', '/livez?verbose&exclude=store', { token: null })).text).toBe(
      '[+]ping ok\n[+]store excluded: ok\nlivez check passed\n',
    )
    expect(await call('GET', '/readyz/store')).toMatchObject({ code: 200, text: 'ok' })
    expect((await call('GET', '/readyz/unicorn')).code).toBe(404)
  })

  it('fails with what is not, for the cluster and for the listener', async () => {
    storeIsHealthy = false
    const { code, text } = await call('GET', '/readyz', { token: null })
    expect([code, text]).toEqual([
      500,
      '[+]ping ok\n[-]store failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n',
    ])
    expect(await send('GET', '/livez', { token: null })).toMatchObject({
      code: 500,
      text: '[+]ping ok\n[-]clusters failed: reason withheld\nlivez check failed\n',
    })
  })
})

describe('discovery', () => {
  it('lists groups and resources, plain and in one piece', async () => {
    expect((await call('GET', '/api')).json).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
    expect((await call('GET', '/apis')).json).toMatchObject({
      kind: 'APIGroupList',
      groups: expect.arrayContaining([
        expect.objectContaining({ name: 'discovery.k8s.io' }),
        expect.objectContaining({
          name: 'sluice.dev',
          preferredVersion: { groupVersion: 'sluice.dev/v1', version: 'v1' },
        }),
      ]),
    })
    const resources = (await call('GET', '/apis/sluice.dev/v1')).json['resources'] as Array<Record<string, unknown>>
    expect(resources.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['models', 'models/status', 'models/scale']),
    )
    expect(resources.find(({ name }) => name === 'models/scale')).toMatchObject({ group: 'autoscaling', kind: 'Scale' })
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
    const aggregated = await call('GET', '/apis', { headers: { accept } })
    expect(aggregated.headers['content-type']).toContain('as=APIGroupDiscoveryList')
    expect(aggregated.json['items']).toContainEqual(expect.objectContaining({ metadata: { name: 'sluice.dev' } }))
  })

  it('says in OpenAPI that it validates fields itself', async () => {
    const index = (await call('GET', '/openapi/v3')).json['paths'] as Record<string, { serverRelativeURL: string }>
    const document = (await send('GET', index['apis/sluice.dev/v1']?.serverRelativeURL ?? '')).json
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
    const created = await call('POST', models, { body: model })
    expect(created).toMatchObject({ code: 201, json: { kind: 'Model', metadata: { generation: 1 } } })
    expect((await call('GET', `${models}/m`)).json).toEqual(created.json)
    const patched = await call('PATCH', `${models}/m`, {
      body: { spec: { maxReplicas: 2 } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expect(patched.json).toMatchObject({ spec: { maxReplicas: 2 }, metadata: { generation: 2 } })
    const stale = await call('PUT', `${models}/m`, { body: created.json })
    expect(stale.json).toMatchObject({ code: 409, reason: 'Conflict' })
    const status = await call('PUT', `${models}/m/status`, { body: { ...patched.json, status: { phase: 'Asleep' } } })
    expect(status.json).toMatchObject({ status: { phase: 'Asleep' } })
    const deleted = await call('DELETE', `${models}/m`, { body: { propagationPolicy: 'Background' } })
    expect(deleted).toMatchObject({ code: 200, json: { status: 'Success', details: { kind: 'models', name: 'm' } } })
    expect((await call('GET', `${models}/m`)).json).toMatchObject({ code: 404, reason: 'NotFound' })
  })

  it('answers a broken rule with the causes kubectl prints', async () => {
    const { json } = await call('POST', models, { body: { ...model, spec: { ...model.spec, url: 'http://x' } } })
    expect(json).toMatchObject({ code: 422, reason: 'Invalid', details: { causes: [{ field: 'spec.url' }] } })
  })

  it('warns of unknown fields in a header', async () => {
    const body = { ...model, spec: { ...model.spec, colour: 'blue' } }
    const { headers } = await call('POST', models, { body })
    expect(headers['warning']).toBe('299 - "unknown field \\"spec.colour\\""')
    expect((await call('POST', `${models}?fieldValidation=Strict`, { body })).code).toBe(400)
  })

  it('lists in pages, by labels and by fields', async () => {
    for (const name of ['a', 'b', 'c']) {
      await api.create(configMapKind, 'default', { metadata: { name, labels: { odd: String(name !== 'b') } } })
    }
    const names = ({ json }: Reply) =>
      (json['items'] as Array<{ metadata: { name: string } }>).map(({ metadata }) => metadata.name)
    expect(names(await call('GET', `${maps}?labelSelector=odd%3Dtrue`))).toEqual(['a', 'c'])
    expect(names(await call('GET', `${maps}?fieldSelector=metadata.name%3Db`))).toEqual(['b'])
    const first = await call('GET', '/api/v1/configmaps?limit=2')
    const { continue: token, remainingItemCount } = first.json['metadata'] as Record<string, unknown>
    expect([names(first), remainingItemCount]).toEqual([['a', 'b'], 1])
    expect(names(await call('GET', `/api/v1/configmaps?limit=2&continue=${String(token)}`))).toEqual(['c'])
  })

  it('scales through the scale subresource', async () => {
    await call('POST', models, { body: model })
    const headers = { 'content-type': 'application/merge-patch+json' }
    const scaled = await call('PATCH', `${models}/m/scale`, { body: { spec: { replicas: 1 } }, headers })
    expect(scaled.json).toMatchObject({ kind: 'Scale', spec: { replicas: 1 } })
    expect((await call('GET', `${models}/m/scale`)).json).toMatchObject({ spec: { replicas: 1 } })
    expect((await call('GET', `${maps}/m/scale`)).code).toBe(404)
  })

  it('shows tables and bare metadata', async () => {
    await call('POST', models, { body: model })
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
    const table = (await call('GET', models, { headers: { accept } })).json
    expect(table).toMatchObject({ kind: 'Table', rows: [{ object: { kind: 'PartialObjectMetadata' } }] })
    const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
    const list = (await call('GET', models, { headers: { accept: partial } })).json
    expect(list).toMatchObject({ kind: 'PartialObjectMetadataList', items: [{ metadata: { name: 'm' } }] })
  })

  it('streams a log, and refuses one that cannot be read', async () => {
    const hosted = (name: string) => ({ ...pod(name), spec: { ...pod(name).spec, nodeName: 'here' } })
    await call('POST', pods, { body: hosted('p') })
    await call('POST', pods, { body: hosted('silent') })
    await call('POST', pods, { body: pod('homeless') })
    expect(await call('GET', `${pods}/homeless/log`)).toMatchObject({ code: 204, text: '' })
    const log = await call('GET', `${pods}/p/log?tailLines=5&timestamps=true`)
    expect(log).toMatchObject({ code: 200, text: 'first\nsecond\n' })
    expect(logRequests[0]).toMatchObject({ container: 'main', tailLines: 5, timestamps: true, follow: false })
    expect((await call('GET', `${pods}/p/log?limitBytes=8`)).text).toBe('first\nse')
    expect((await call('GET', `${pods}/silent/log?follow=true`)).json).toMatchObject({ code: 400 })
    expect((await call('GET', `${pods}/p/log?container=other`)).json).toMatchObject({
      message: 'container other is not valid for pod p',
    })
  })
})

describe('watching', () => {
  async function* lines(response: IncomingMessage): AsyncGenerator<Record<string, unknown>> {
    let rest = ''
    for await (const chunk of response) {
      rest += String(chunk)
      const parts = rest.split('\n')
      rest = parts.pop() ?? ''
      for (const part of parts) yield JSON.parse(part) as Record<string, unknown>
    }
  }

  it('streams changes from a version on', async () => {
    const version = String(api.revision)
    const stream = lines(await open('GET', `/vks/one${maps}?watch=1&resourceVersion=${version}`))
    await api.create(configMapKind, 'default', { metadata: { name: 'a' } })
    await api.delete(configMapKind, { namespace: 'default', name: 'a' })
    expect((await stream.next()).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } })
    expect((await stream.next()).value).toMatchObject({ type: 'DELETED' })
  })

  it('sends what is there first, and marks the end of it, when asked to', async () => {
    await api.create(configMapKind, 'default', { metadata: { name: 'a' } })
    const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
    const stream = lines(await open('GET', `/vks/one${maps}?${query}`))
    expect((await stream.next()).value).toMatchObject({ type: 'ADDED' })
    expect((await stream.next()).value).toMatchObject({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        metadata: { resourceVersion: String(api.revision), annotations: { 'k8s.io/initial-events-end': 'true' } },
      },
    })
  })

  it('tells a quiet watcher how far the world has moved', async () => {
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${api.revision}`
    const stream = lines(await open('GET', `/vks/one${maps}?${query}`))
    await api.create(namespaceKind, undefined, { metadata: { name: 'other' } })
    await clock.advance(60_000)
    expect((await stream.next()).value).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: String(api.revision) } },
    })
  })

  it('ends after timeoutSeconds', async () => {
    const response = await open('GET', `/vks/one${maps}?watch=1&timeoutSeconds=5`)
    await clock.advance(5_000)
    const events = []
    for await (const event of lines(response)) events.push(event)
    expect(events).toEqual([])
  })

  it('shows table rows, with the columns once', async () => {
    await api.create(configMapKind, 'default', { metadata: { name: 'a' } })
    await api.create(configMapKind, 'default', { metadata: { name: 'b' } })
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
    const stream = lines(await open('GET', `/vks/one${maps}?watch=1`, { headers }))
    const first = (await stream.next()).value as { object: Record<string, unknown> }
    const second = (await stream.next()).value as { object: Record<string, unknown> }
    expect(first.object).toMatchObject({ kind: 'Table', rows: [{ cells: ['a', 0, '0s'] }] })
    expect([first.object['columnDefinitions'], second.object['columnDefinitions']]).toEqual([expect.any(Array), null])
  })

  it('bounds the watches of a user, and gives the place back', async () => {
    const first = await open('GET', `/vks/one${maps}?watch=1`)
    await open('GET', `/vks/one${maps}?watch=1`)
    expect((await call('GET', `${maps}?watch=1`)).json).toMatchObject({ code: 429, reason: 'TooManyRequests' })
    first.destroy()
    const another = () => open('GET', `/vks/one${maps}?watch=1&timeoutSeconds=0`)
    await expect.poll(async () => (await another()).statusCode, { timeout: 10_000 }).toBe(200)
  })

  it('refuses a version of another store', async () => {
    const later = await call('GET', `${maps}?watch=1&resourceVersion=99999`)
    expect(later.text).toContain('Too large resource version: 99999')
    expect((await call('GET', `${maps}?watch=1&resourceVersion=x`)).json).toMatchObject({ code: 400 })
  })

  it('ends with the server', async () => {
    const response = await open('GET', `/vks/one${maps}?watch=1`)
    const closed = server.close(1_000)
    const events = []
    for await (const event of lines(response)) events.push(event)
    for (const agent of agents.splice(0)) agent.destroy()
    await closed
    expect(events).toEqual([])
  })
})

describe('what is refused', () => {
  const deep = '{"metadata":{"name":"x"},"data":' + '{"a":'.repeat(30) + '1' + '}'.repeat(31)
  const json = { 'content-type': 'application/json' }
  const refusals: Array<[string, string, string, CallOptions, number]> = [
    ['malformed JSON', 'POST', maps, { body: '{"metadata":' }, 400],
    ['an encoded body', 'POST', maps, { body: '{}', headers: { ...json, 'content-encoding': 'gzip' } }, 415],
    ['deep nesting', 'POST', maps, { body: deep }, 400],
    ['a large body', 'POST', maps, { body: JSON.stringify({ data: { a: 'x'.repeat(70_000) } }) }, 413],
    ['another content type', 'POST', maps, { body: 'a: b', headers: { 'content-type': 'text/plain' } }, 415],
    [
      'protobuf of a kind without it',
      'POST',
      pods,
      { body: 'k8s\0', headers: { 'content-type': 'application/vnd.kubernetes.protobuf' } },
      415,
    ],
    [
      'broken protobuf',
      'POST',
      maps,
      { body: 'k8s\0\u000a\u007f', headers: { 'content-type': 'application/vnd.kubernetes.protobuf' } },
      400,
    ],
    [
      'an apply that says not whose it is',
      'PATCH',
      `${maps}/x`,
      { body: '{}', headers: { 'content-type': 'application/apply-patch+yaml' } },
      422,
    ],
    [
      'a strategic patch of our kinds',
      'PATCH',
      `${models}/x`,
      { body: '{}', headers: { 'content-type': 'application/strategic-merge-patch+json' } },
      415,
    ],
    ['an unknown patch', 'PATCH', `${maps}/x`, { body: '{}' }, 415],
    ['a wish for protobuf only', 'GET', maps, { headers: { accept: 'application/vnd.kubernetes.protobuf' } }, 406],
    ['climbing out', 'GET', '/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets', {}, 400],
    ['a dot segment', 'GET', '/api/v1/namespaces/../secrets', {}, 400],
    ['bad percent-encoding', 'GET', '/api/v1/namespaces/%zz', {}, 400],
    ['an unknown resource', 'GET', '/api/v1/unicorns', {}, 404],
    ['an unknown version', 'GET', '/apis/sluice.dev/v2/models', {}, 404],
    ['an unknown path', 'GET', '/nothing', {}, 404],
    ['a namespaced object without its namespace', 'GET', '/api/v1/pods/x', {}, 404],
    ['creating without a namespace', 'POST', '/api/v1/pods', { body: pod('x') }, 405],
    ['creating under a name', 'POST', `${maps}/x`, { body: {} }, 405],
    ['replacing a collection', 'PUT', maps, { body: {} }, 405],
    ['exec', 'POST', `${pods}/x/exec?command=ls`, {}, 501],
    [
      'exec over a WebSocket, before it is one',
      'GET',
      `${pods}/x/exec?command=ls`,
      {
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          'sec-websocket-protocol': 'v5.channel.k8s.io',
        },
      },
      501,
    ],
    ['attach', 'POST', `${pods}/x/attach`, {}, 501],
    ['port-forward', 'POST', `${pods}/x/portforward`, {}, 501],
    ['a Node as a proxy', 'GET', '/api/v1/nodes/x/proxy/metrics', {}, 501],
    ['resizing a Pod', 'PATCH', `${pods}/x/resize`, { body: {} }, 501],
    ['a token without a signing key', 'POST', '/api/v1/namespaces/default/serviceaccounts/x/token', { body: {} }, 501],
    ['reading a review', 'GET', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {}, 405],
    ['a bad label selector', 'GET', `${maps}?labelSelector=a%20b`, {}, 400],
    ['a field it cannot be selected by', 'GET', `${maps}?fieldSelector=data.a%3Db`, {}, 400],
    ['a bad limit', 'GET', `${maps}?limit=-1`, {}, 400],
    ['a bad dry run', 'POST', `${maps}?dryRun=Some`, { body: {} }, 422],
    ['a bad field validation', 'POST', `${maps}?fieldValidation=Maybe`, { body: {} }, 422],
    ['a large head', 'GET', maps, { headers: { 'x-large': 'x'.repeat(40_000) } }, 431],
    ['a selector of a million labels', 'GET', `${maps}?labelSelector=${'a%3Db,'.repeat(3_000)}`, {}, 400],
  ]
  it.each(refusals)('%s', async (_what, method, path, options, code) => {
    expect((await call(method, path, options)).code).toBe(code)
    expect((await call('GET', maps)).code).toBe(200)
  })
})

it('counts requests under names of its own, whatever clients write', async () => {
  await call('GET', maps)
  await call('GET', '/api/v1/unicorns')
  await call('GET', '/unicorns')
  await call('GET', `${pods}/p/unicorns`)
  await call('PURGE', maps)
  const { text } = await send('GET', '/metrics')
  expect(text).toContain('sluice_apiserver_requests_total{verb="list",resource="configmaps",code="200"} 1')
  expect(text).not.toMatch(/unicorns|purge/i)
})
