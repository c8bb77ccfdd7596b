import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { type ApiKey, apiKeySchema } from '../../resources/api-key.ts'
import { clusterSchema } from '../../resources/cluster.ts'
import { type ComputeCenter, computeCenterSchema as centerResource } from '../../resources/compute-center.ts'
import { nodeSchema } from '../../resources/node.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import { usageRecordSchema } from '../../resources/usage-record.ts'
import { apiKeySpec, generateKeyPair } from '../key-pair.ts'
import { routeOf } from '../management-routes.ts'
import { ManagementServer } from '../management-server.ts'
import { clusterDetailSchema, computeCenterSchema, failureSchema, successOf, usageSchema } from './answer-schemas.ts'
import { openApiDocument } from './openapi-document.ts'

const documentForm = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) }))),
})
const document = documentForm.parse(openApiDocument())
const statusesOf = (path: string) => Object.keys(document.paths[path]?.['get']?.responses ?? {}).map(Number)

const pair = generateKeyPair()
const off = generateKeyPair()
const credential = ({ accessKey, secretKey }: typeof pair) => `plain Credential=${accessKey},Signature=${secretKey}`

let server: ManagementServer

beforeEach(async () => {
  const keys = new HeldObjects<ApiKey>()
  const centers = new HeldObjects<ComputeCenter>()
  const key = (name: string, spec: ApiKey['spec']) =>
    keys.put(apiKeySchema.parse({ apiVersion: 'sluice.dev/v1', kind: 'ApiKey', metadata: { name }, spec }))
  key('a', apiKeySpec(pair, 'acme'))
  key('b', { ...apiKeySpec(off, 'acme'), disabled: true })
  const place = { name: '本地', nameEn: 'Local', country: 'here', address: 'this machine' }
  const names = { proxyDomain: 'local-1.localhost', registry: 'registry.local-1.localhost' }
  const times = { endpoint: 'http://a', osmEndpoint: 'http://b', onlineDate: '2030-01-01 00:00:00', createdTime: null }
  for (const [id, more] of [
    ['1', {}],
    ['2', times],
  ] as const) {
    const spec = { id, code: `local-${id}`, ...place, ...names, ...more }
    const metadata = { name: `local-${id}` }
    centers.put(centerResource.parse({ apiVersion: 'sluice.dev/v1', kind: 'ComputeCenter', metadata, spec }))
  }
  keys.synced = true
  centers.synced = true
  const cluster = clusterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Cluster',
    metadata: { name: 'vks1' },
    spec: { displayName: 'first', enterprise: 'acme', center: 'local-1' },
  })
  const allocatable = { cpu: '8', memory: '32Gi', 'nvidia.com/gpu-l40s': '2' }
  const status = { allocatable, conditions: [{ type: 'Ready', status: 'True' }] }
  const nodes = [nodeSchema.parse({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status })]
  const used = usageRecordSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'UsageRecord',
    metadata: { name: 'a' },
    spec: {
      day: '2030-01-01',
      writer: 'a',
      lastWrite: { run: 'a', number: 1 },
      served: [{ model: 'tiny', requests: 1 }],
      cards: [{ model: 'tiny', seconds: 0.5, savedSeconds: 1 }],
    },
  })
  const view = {
    cluster,
    nodes: { list: () => nodes, synced: true },
    pods: { list: () => [], synced: true },
    usage: { list: () => [used], synced: true },
  }
  server = new ManagementServer({
    host: '127.0.0.1',
    port: 0,
    keys,
    centers,
    clusters: { find: (id) => (id === 'vks1' ? view : undefined) },
    clock: systemClock,
    log: silentLogger,
    metrics: new Metrics(),
  })
  await server.start()
})

afterEach(() => server.stop(AbortSignal.timeout(1_000)))

async function ask(path: string, authorization?: string) {
  const headers = authorization === undefined ? {} : { authorization }
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers })
  const text = await response.text()
  const contentType = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
  const json: unknown = contentType === 'application/json' ? JSON.parse(text) : undefined
  return { status: response.status, contentType, json, text }
}

describe('the OpenAPI document', () => {
  it('is served to anybody, as it is', async () => {
    expect((await ask('/openapi.json')).json).toEqual(openApiDocument())
  })

  it('has every route and no other', () => {
    const routes = Object.keys(document.paths).map((path) => routeOf(path.replace('{id}', 'vks1')).name)
    const all = ['cluster', 'usage', 'centers', 'openapi', 'healthz', 'readyz', 'metrics'] satisfies Array<
      Exclude<ReturnType<typeof routeOf>['name'], 'unknown'>
    >
    expect(routes).toEqual(all)
  })

  it('says what a cluster and the centers look like, with and without what may be missing', async () => {
    const cluster = await ask('/api/vks/v1/vks1', credential(pair))
    expect(successOf(clusterDetailSchema).safeParse(cluster.json).error).toBeUndefined()
    const centers = await ask('/api/aidc/v1/list', credential(pair))
    const form = successOf(z.array(computeCenterSchema).length(2))
    expect(form.safeParse(centers.json).error).toBeUndefined()
  })

  it.each(['day', 'model', 'day,model', 'key', ''])('says what usage by "%s" looks like', async (by) => {
    const usage = await ask(`/api/vks/v1/vks1/usage?since=2030-01-01&until=2030-01-31&by=${by}`, credential(pair))
    const parsed = successOf(usageSchema).parse(usage.json)
    expect(parsed.data.rows).toHaveLength(1)
  })

  it.each([
    ['/api/vks/v1/{id}/usage', '/api/vks/v1/vks1/usage', undefined, 401],
    ['/api/vks/v1/{id}/usage', '/api/vks/v1/vks2/usage', credential(pair), 404],
    ['/api/vks/v1/{id}/usage', '/api/vks/v1/vks1/usage?by=hour', credential(pair), 400],
    ['/api/vks/v1/{id}', '/api/vks/v1/vks1', undefined, 401],
    ['/api/vks/v1/{id}', '/api/vks/v1/vks2', credential(pair), 404],
    ['/api/vks/v1/{id}', '/api/vks/v1/VKS', credential(pair), 400],
    ['/api/vks/v1/{id}', '/api/vks/v1/vks1', credential(off), 403],
    ['/api/aidc/v1/list', '/api/aidc/v1/list', credential({ ...pair, secretKey: 'wrong' }), 401],
    ['/metrics', '/metrics', undefined, 401],
  ])('has the refusals of %s: %s', async (path, asked, authorization, status) => {
    const answer = await ask(asked, authorization)
    expect(answer.status).toBe(status)
    expect(statusesOf(path)).toContain(status)
    expect(failureSchema.safeParse(answer.json).error).toBeUndefined()
  })

  it('has every kind of content that is answered', async () => {
    const contents = z.looseObject({ content: z.record(z.string(), z.unknown()) })
    for (const path of Object.keys(document.paths)) {
      const { status, contentType } = await ask(path.replace('{id}', 'vks1'), credential(pair))
      expect(status).toBe(200)
      const documented = contents.parse(document.paths[path]?.['get']?.responses['200'])
      expect(Object.keys(documented.content)).toEqual([contentType])
    }
  })
})
