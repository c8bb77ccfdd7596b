import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ApiServerStage, type CallOptions, maps, models, pods } from './test-support/api-server-stage.fixture.ts'
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

const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'main', image: 'app:1' }] } })

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
    expect((await stage.call(method, path, options)).code).toBe(code)
    expect((await stage.call('GET', maps)).code).toBe(200)
  })
})
