import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { configMapKind } from '../resources/config-map.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { serviceAccountKind } from '../resources/service-account.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ClusterAccess } from './access/cluster-access.ts'
import { SigningKey } from './access/identity/signing-key.ts'
import { ApiServer } from './api-server.ts'
import { certificateUsers, firstKnown, knownTokens, serviceAccountUsers } from './access/identity/authentication.ts'
import { type TestCertificates, createTestCertificates } from './test-support/certificates.fixture.ts'
import { ClusterApi } from './cluster-api.ts'

const clock = new FakeClock()
const signingKey = SigningKey.generatePem()
let server: ApiServer
let ours: TestCertificates
let theirs: TestCertificates
let port: number
const opened: ClusterAccess[] = []
const agents: Agent[] = []
const maps = '/api/v1/namespaces/default/configmaps'

beforeAll(async () => {
  ours = await createTestCertificates('CN=carol, O=system:masters')
  theirs = await createTestCertificates('CN=carol, O=system:masters')
  const tls = { ...ours.server, ca: ours.ca }
  server = new ApiServer({ tls, log: silentLogger, clock, metrics: new Metrics() })
  await mount('one', ours.ca)
  await mount('two', theirs.ca)
  port = (await server.listen('127.0.0.1', 0)).port
})

afterAll(async () => {
  for (const agent of agents) agent.destroy()
  await server.close(0)
  for (const access of opened) await access.stop()
})

async function mount(id: string, authority: string): Promise<void> {
  const store = new MemoryStore()
  const access = new ClusterAccess({ store, log: silentLogger, signingKey, issuer: `https://cluster/${id}` })
  const { admission, authorizer, tokens } = access
  const api = new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock, admission })
  await api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
  await api.create(serviceAccountKind, 'default', { metadata: { name: 'bot' } })
  await api.create(configMapKind, 'default', { metadata: { name: `of-${id}` } })
  await access.start(api)
  opened.push(access)
  const authenticate = firstKnown(
    knownTokens([{ token: `token-${id}`, user: { name: 'admin', groups: ['system:masters'] } }]),
    certificateUsers(authority),
    serviceAccountUsers(tokens, () => clock.now()),
  )
  server.mount({ id, api, podAccess: { logs: () => (async function* () {})() }, authenticate, authorizer, tokens })
}

interface Call {
  readonly token?: string
  readonly client?: { readonly key: string; readonly cert: string }
  readonly body?: object
}

async function call(path: string, { token, client, body }: Call): Promise<{ code: number; text: string }> {
  const agent = new Agent({ ca: ours.ca, ...client })
  agents.push(agent)
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': 'application/json' }),
  }
  const outgoing = request({ host: '127.0.0.1', port, path, agent, headers, method: body ? 'POST' : 'GET' })
  outgoing.end(body && JSON.stringify(body))
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { code: response.statusCode ?? 0, text }
}

describe('several clusters behind one listener', () => {
  it('have their own objects', async () => {
    const one = await call(`/vks/one${maps}`, { token: 'token-one' })
    expect(one.text).toContain('of-one')
    expect(one.text).not.toContain('of-two')
    expect((await call(`/vks/two${maps}`, { token: 'token-two' })).text).toContain('of-two')
  })

  it('have their own users', async () => {
    expect((await call(`/vks/two${maps}`, { token: 'token-one' })).code).toBe(401)
    expect((await call(`/vks/one${maps}`, { token: 'token-two' })).code).toBe(401)
  })

  it('take the tokens of their own service accounts only, though one key signs them', async () => {
    const path = '/vks/one/api/v1/namespaces/default/serviceaccounts/bot/token'
    const answer = await call(path, { token: 'token-one', body: {} })
    const { token } = (JSON.parse(answer.text) as { status: { token: string } }).status
    expect((await call('/vks/one/api', { token })).code).toBe(200)
    expect((await call('/vks/two/api', { token })).code).toBe(401)
  })

  it('take the certificates of their own authority only', async () => {
    expect((await call(`/vks/one${maps}`, { client: ours.client })).code).toBe(200)
    expect((await call(`/vks/two${maps}`, { client: ours.client })).code).toBe(401)
    expect((await call(`/vks/one${maps}`, { client: theirs.client })).code).toBe(401)
  })

  it('tell nobody about others: what is not there is not there', async () => {
    for (const path of ['/vks/three/api', '/vks/three/healthz', '/vks/three']) {
      expect((await call(path, { token: 'token-one' })).code).toBe(404)
    }
  })
})
