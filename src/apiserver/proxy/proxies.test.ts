import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, type Server, createServer } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { endpointSliceKind } from '../../resources/endpoint-slice.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { podKind } from '../../resources/pod.ts'
import { serviceKind } from '../../resources/service.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ApiServer } from '../api-server.ts'
import { knownTokens } from '../access/identity/authentication.ts'
import { createTestCertificates } from '../test-support/certificates.fixture.ts'
import { ClusterApi } from '../cluster-api.ts'

const certificates = createTestCertificates('CN=nobody')
let server: ApiServer
let api: ClusterApi
let port = 0
let program: Server
let programPort = 0
let seen: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[] = []

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

beforeEach(async () => {
  seen = []
  program = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      const { method = '', url = '', headers } = incoming
      seen.push({ method, url, headers, body })
      if (url === '/page') {
        const page = '<a href="/next">n</a><a href="below">b</a><a href="http://elsewhere/x">e</a>'
        response.writeHead(200, { 'Content-Type': 'text/html', 'Access-Control-Allow-Origin': '*' }).end(page)
      } else if (url === '/gone') response.writeHead(302, { Location: '/there' }).end()
      else response.writeHead(200, { 'Content-Type': 'text/plain' }).end(`${method} ${url} ${body}`)
    })
  })
  await once(program.listen(0, '127.0.0.1'), 'listening')
  const address = program.address()
  programPort = typeof address === 'object' && address ? address.port : 0
  api = new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: systemClock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
  await createPod()
  const { ca, server: own } = await certificates
  server = new ApiServer({ tls: { ...own, ca }, log: silentLogger, clock: systemClock, metrics: new Metrics() })
  const authenticate = knownTokens([{ token: 't', user: { name: 'admin', groups: ['system:masters'] } }])
  const podAccess = { async *logs() {} }
  server.mount({ id: 'one', api, podAccess, authenticate })
  port = (await server.listen('127.0.0.1', 0)).port
})

afterEach(async () => {
  await server.close(0)
  program.close()
})

async function createPod(): Promise<void> {
  const containers = [{ name: 'main', image: 'x', ports: [{ containerPort: programPort }] }]
  const pod = await api.create(podKind, 'default', { metadata: { name: 'web' }, spec: { nodeName: 'n', containers } })
  const status = { phase: 'Running', podIP: '127.0.0.1' }
  await api.update(podKind, { namespace: 'default', name: 'web' }, { ...pod, status }, {}, 'status')
}

async function createService(endpoint: Record<string, unknown>): Promise<void> {
  const ports = [{ name: 'web', port: 80, targetPort: programPort }]
  await api.create(serviceKind, 'default', { metadata: { name: 'front' }, spec: { ports } })
  await api.create(endpointSliceKind, 'default', {
    metadata: { name: 'front-1', labels: { 'kubernetes.io/service-name': 'front' } },
    addressType: 'IPv4',
    endpoints: [{ conditions: { ready: true }, ...endpoint }],
    ports: [{ name: 'web', port: programPort, protocol: 'TCP' }],
  })
}

async function ask(method: string, path: string, body?: string, framing = 'content-length'): Promise<Answer> {
  const { ca } = await certificates
  const framed =
    framing === 'content-length' ? { 'Content-Length': body?.length ?? 0 } : { 'Transfer-Encoding': framing }
  const headers = { Authorization: 'Bearer t', 'X-Mine': 'yes', ...framed }
  const options = { host: '127.0.0.1', port, path: `/vks/one/api/v1/namespaces/default${path}`, method, headers, ca }
  const asking = request(options)
  const answering = new Promise<IncomingMessage>((resolve, reject) => {
    asking.once('response', resolve).once('error', reject)
  })
  asking.end(body)
  const answer = await answering
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }
}

it('takes every method with its path, query and body to the first port of a Pod', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const body = method === 'GET' ? undefined : 'x'.repeat(10)
    const answer = await ask(method, '/pods/web/proxy/some/path?q=1', body)
    expect(answer).toMatchObject({ status: 200, body: `${method} /some/path?q=1 ${body ?? ''}` })
  }
  expect((await ask('HEAD', '/pods/web/proxy/x')).status).toBe(200)
})

it('says where a body of unknown length ends, whatever the method', async () => {
  expect((await ask('DELETE', '/pods/web/proxy/x', 'body', 'chunked')).body).toBe('DELETE /x body')
  expect((await ask('GET', '/pods/web/proxy/x', 'body', 'chunked')).body).toBe('GET /x body')
})

it('keeps the credentials for itself', async () => {
  await ask('GET', '/pods/web/proxy/x')
  expect(seen[0]?.headers).toMatchObject({ 'x-mine': 'yes', 'x-forwarded-for': '127.0.0.1' })
  expect(seen[0]?.headers['x-forwarded-uri']).toBe('/vks/one/api/v1/namespaces/default/pods/web/proxy/x')
  expect(seen[0]?.headers).not.toHaveProperty('authorization')
})

it('does not hold a body that is larger than those it reads itself', async () => {
  const body = 'x'.repeat(5 * 1024 * 1024)
  expect((await ask('POST', '/pods/web/proxy/x', body)).body).toHaveLength(body.length + 'POST /x '.length)
})

it('sends a browser to the address below which relative links work', async () => {
  const answer = await ask('GET', '/pods/web/proxy?q=1')
  expect(answer.status).toBe(301)
  expect(answer.headers.location).toBe('/vks/one/api/v1/namespaces/default/pods/web/proxy/?q=1')
  expect((await ask('POST', '/pods/web/proxy?q=1')).body).toBe('POST /?q=1 ')
})

it('rewrites the links of pages and redirects so that they lead through it', async () => {
  const base = `/vks/one/api/v1/namespaces/default/pods/http:web:${programPort}/proxy`
  const page = await ask('GET', `/pods/http:web:${programPort}/proxy/page`)
  expect(page.body).toBe(`<a href="${base}/next">n</a><a href="below">b</a><a href="http://elsewhere/x">e</a>`)
  expect(page.headers).not.toHaveProperty('access-control-allow-origin')
  expect((await ask('GET', `/pods/http:web:${programPort}/proxy/gone`)).headers.location).toBe(`${base}/there`)
})

it('reaches the Pods of a Service by the name and by the number of its port', async () => {
  await createService({ addresses: ['127.0.0.1'], targetRef: { kind: 'Pod', name: 'web', namespace: 'default' } })
  for (const name of ['front:web', 'front:80', 'http:front:web']) {
    expect(await ask('GET', `/services/${name}/proxy/x`)).toMatchObject({ status: 200, body: 'GET /x ' })
  }
  expect(await ask('GET', '/services/front:81/proxy/x')).toMatchObject({
    status: 503,
    body: expect.stringContaining('no service port 81 found for service'),
  })
})

it('goes to no address that is not that of a Pod, whatever a slice says', async () => {
  await createService({ addresses: ['127.0.0.1'] })
  expect(await ask('GET', '/services/front:web/proxy/x')).toMatchObject({
    status: 503,
    body: expect.stringContaining('no endpoints available for service'),
  })
  expect(seen).toEqual([])
})

it('says what is wrong with a request that leads nowhere', async () => {
  expect((await ask('GET', '/pods/ftp:web:1/proxy/x')).body).toContain('invalid pod request')
  expect((await ask('GET', '/pods/nobody/proxy/x')).status).toBe(404)
  expect((await ask('GET', '/pods/web:99999/proxy/x')).status).toBe(400)
  const closed = await ask('GET', '/pods/web:1/proxy/x')
  expect(closed).toMatchObject({ status: 503, body: expect.stringContaining('error trying to reach service') })
})
