import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ApiServerStage, maps, pods } from './test-support/api-server-stage.fixture.ts'
import { createTestCertificates } from './test-support/certificates.fixture.ts'
import { secretKind } from '../resources/secret.ts'

const certificates = createTestCertificates('CN=carol, O=testers')
let stage: ApiServerStage

beforeEach(async () => {
  stage = new ApiServerStage(await certificates)
  await stage.start()
})

afterEach(() => stage.stop())

const text = () => JSON.stringify(stage.audited)

describe('the audit of the API server', () => {
  it('tells who wrote what, and how it ended', async () => {
    const headers = { 'user-agent': 'audit-test/1' }
    const { headers: answer } = await stage.call('POST', maps, { body: { metadata: { name: 'a' } }, headers })
    const [event] = stage.audited
    expect(event).toMatchObject({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      stage: 'ResponseComplete',
      requestURI: `/vks/one${maps}`,
      verb: 'create',
      user: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
      sourceIPs: ['127.0.0.1'],
      userAgent: 'audit-test/1',
      objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
      responseStatus: { metadata: {}, code: 201 },
      annotations: { 'authorization.k8s.io/decision': 'allow', 'sluice.dev/cluster': 'one' },
    })
    expect(event?.stageTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(answer['audit-id']).toBe(event?.auditID)
  })

  it('says nothing of those who only read', async () => {
    for (const path of [maps, '/api', '/healthz', '/version', `${maps}/a`, `${pods}/web/log`]) {
      await stage.call('GET', path)
    }
    expect(stage.audited).toEqual([])
  })

  it('has neither what was sent nor what was answered, whether taken or refused', async () => {
    const secrets = maps.replace('configmaps', 'secrets')
    const hidden = 'aHVzaC1odXNo'
    await stage.call('POST', secrets, { body: { metadata: { name: 's' }, data: { key: hidden } } })
    await stage.call('PUT', `${secrets}/s`, { body: { metadata: { name: 's' }, data: { key: 'hush-hush?' } } })
    await stage.call('POST', secrets, { body: 'hush-hush' })
    await stage.call('PATCH', `${secrets}/s`, {
      body: [{ op: 'replace', path: '/data', value: 'hush-hush' }],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    expect(stage.api.find(secretKind, { name: 's', namespace: 'default' })?.['data']).toEqual({ key: hidden })
    expect(stage.audited.map(({ responseStatus }) => responseStatus.code)).toEqual([201, 400, 400, 422])
    expect(text()).not.toContain(hidden)
    expect(text()).not.toContain('hush')
    expect(text()).not.toContain('secret-token')
  })

  it('says why a write was refused by its reason alone', async () => {
    await stage.call('DELETE', `${maps}/missing`)
    expect(stage.audited[0]?.responseStatus).toEqual({ metadata: {}, status: 'Failure', reason: 'NotFound', code: 404 })
  })

  it('names those who may not, and nobody where the credential is not known', async () => {
    await stage.call('POST', maps, { body: { metadata: { name: 'a' } }, token: null })
    await stage.call('POST', maps, { body: { metadata: { name: 'a' } }, token: 'wrong' })
    expect(stage.audited.map(({ user, responseStatus }) => [user.username, responseStatus.code])).toEqual([
      ['system:anonymous', 403],
      [undefined, 401],
    ])
    expect(stage.audited[0]?.annotations['authorization.k8s.io/decision']).toBe('forbid')
    expect(text()).not.toContain('wrong')
  })

  it('tells on whose behalf somebody acts', async () => {
    await stage.call('DELETE', `${maps}/a`, { headers: { 'impersonate-user': 'ada', 'impersonate-group': 'testers' } })
    expect(stage.audited[0]).toMatchObject({
      user: { username: 'admin' },
      impersonatedUser: { username: 'ada', groups: ['testers', 'system:authenticated'] },
      responseStatus: { code: 403 },
    })
  })

  it('takes the name of a new object from what was sent, and one that the cluster made from there', async () => {
    await stage.call('POST', maps, { body: { metadata: { name: 'x'.repeat(5_000) } } })
    await stage.call('POST', maps, { body: { metadata: { generateName: 'made-' } } })
    const names = stage.audited.map(({ objectRef }) => objectRef?.name)
    expect(names[0]).toBe('x'.repeat(256))
    expect(names[1]).toMatch(/^made-\w+/)
  })

  it('believes what proxies tell of the source, and adds the connection itself', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.7, nonsense, 2001:db8::1', 'x-real-ip': '192.0.2.7' }
    await stage.call('DELETE', `${maps}/a`, { headers })
    expect(stage.audited[0]?.sourceIPs).toEqual(['192.0.2.7', '2001:db8::1', '127.0.0.1'])
  })

  it('bounds what a client can make it write', async () => {
    const headers = { 'audit-id': 'i'.repeat(500), 'user-agent': 'u'.repeat(9_000) }
    await stage.call('DELETE', `${maps}/a`, { headers })
    expect(stage.audited[0]?.auditID).toBe('i'.repeat(64))
    expect(stage.audited[0]?.userAgent).toBe(`${'u'.repeat(1_024)}...TRUNCATED`)
  })

  it('counts reaching into a Pod as a write, without the query that is meant for it', async () => {
    await stage.call('GET', `${pods}/web/exec?command=ls`)
    await stage.call('GET', `${pods}/web/proxy/login?password=hush`)
    expect(stage.audited.map(({ verb, objectRef, requestURI }) => [verb, objectRef?.subresource, requestURI])).toEqual([
      ['get', 'exec', `/vks/one${pods}/web/exec?command=ls`],
      ['get', 'proxy', `/vks/one${pods}/web/proxy/login`],
    ])
  })
})
