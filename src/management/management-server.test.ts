import { type Socket, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ObjectCache } from '../cluster/informer.ts'
import { systemClock } from '../foundation/clock.ts'
import { createLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { type ApiKey, apiKeySchema } from '../resources/api-key.ts'
import { clusterSchema } from '../resources/cluster.ts'
import { type ComputeCenter, computeCenterSchema } from '../resources/compute-center.ts'
import { type Node, nodeSchema } from '../resources/node.ts'
import type { Pod } from '../resources/pod.ts'
import type { ClusterView } from './cluster-directory.ts'
import { apiKeySpec, generateKeyPair } from './key-pair.ts'
import { ManagementServer, type ManagementServerOptions } from './management-server.ts'

const acme = generateKeyPair()
const rival = generateKeyPair()
const disabled = generateKeyPair()
const forInference = generateKeyPair()
const expired = generateKeyPair()

const credential = ({ accessKey, secretKey }: { accessKey: string; secretKey: string }) =>
  `plain Credential=${accessKey},Signature=${secretKey}`

function keyOf(pair: typeof acme, enterprise: string, off = false, more: Partial<ApiKey['spec']> = {}): ApiKey {
  return apiKeySchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'ApiKey',
    metadata: { name: pair.accessKey.toLowerCase() },
    spec: { ...apiKeySpec(pair, enterprise), disabled: off, ...more },
  })
}

function centerWith(spec: Record<string, unknown>): ComputeCenter {
  return computeCenterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'ComputeCenter',
    metadata: { name: 'x' },
    spec: {
      id: '1',
      code: 'local-1',
      name: '本地',
      nameEn: 'Local',
      country: 'here',
      address: 'this machine',
      proxyDomain: 'local-1.localhost',
      registry: 'registry.local-1.localhost',
      ...spec,
    },
  })
}

interface FakeCache<T> extends ObjectCache<T> {
  items: T[]
  synced: boolean
  changed(): void
}

function cacheOf<T>(...items: T[]): FakeCache<T> {
  const listeners = new Set<() => void>()
  return {
    items,
    synced: true,
    get: () => undefined,
    list() {
      return this.items
    },
    onChange(listener) {
      const call = () => this.items.forEach((object) => listener({ type: 'updated', object }))
      listeners.add(call)
      return () => listeners.delete(call)
    },
    changed: () => listeners.forEach((call) => call()),
  }
}

describe('ManagementServer', () => {
  const nodes = cacheOf<Node>(
    nodeSchema.parse({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n' },
      status: {
        allocatable: { cpu: '8', memory: '32Gi', 'nvidia.com/gpu-l40s': '1' },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    }),
  )
  const cluster = clusterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Cluster',
    metadata: { name: 'vks-1' },
    spec: { displayName: 'first', enterprise: 'acme', center: 'local-1' },
  })
  let keys: FakeCache<ApiKey>
  let centers: FakeCache<ComputeCenter>
  let find: (id: string) => ClusterView | undefined
  let server: ManagementServer
  let logLines: string[]

  beforeEach(async () => {
    keys = cacheOf(
      keyOf(acme, 'acme'),
      keyOf(rival, 'rival'),
      keyOf(disabled, 'acme', true),
      keyOf(forInference, 'acme', false, { use: 'Inference' }),
      keyOf(expired, 'acme', false, { expiresAt: '2020-01-01T00:00:00Z' }),
    )
    centers = cacheOf(centerWith({}))
    find = (id) => (id === 'vks-1' ? { cluster, nodes, pods: cacheOf<Pod>() } : undefined)
    logLines = []
    await restart()
  })

  afterEach(() => server.stop(AbortSignal.timeout(2_000)))

  async function restart(options: Partial<ManagementServerOptions> = {}) {
    await server?.stop(AbortSignal.timeout(2_000))
    server = new ManagementServer({
      host: '127.0.0.1',
      port: 0,
      keys,
      centers,
      clusters: { find: (id) => find(id) },
      clock: systemClock,
      log: createLogger({ destination: { write: (line) => void logLines.push(line) } }),
      metrics: new Metrics(),
      ...options,
    })
    await server.start()
  }

  async function ask(path: string, authorization: string | undefined = credential(acme), init: RequestInit = {}) {
    const headers = authorization === undefined || authorization === '' ? {} : { authorization }
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers, ...init })
    const body = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body,
      json: body.startsWith('{') ? JSON.parse(body) : undefined,
    }
  }

  /** Sends bytes as they are and returns everything that came back until the server closed. */
  async function sendRaw(bytes: string): Promise<{ status: number; head: string; body: string }> {
    const socket: Socket = connect(server.port, '127.0.0.1')
    socket.write(bytes)
    const answer = await text(socket)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body }
  }

  describe('answers', () => {
    it('the detail of a cluster', async () => {
      const { status, headers, json } = await ask('/api/vks/v1/vks-1')
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/json')
      expect(json).toEqual({
        code: 0,
        data: {
          id: 'vks-1',
          name: 'first',
          status: 'Running',
          utilizationRate: {
            gpu: [{ name: 'nvidia.com/gpu-l40s', displayName: 'NVIDIA L40S', hard: 1, used: 0, ratio: '1:8:32' }],
            mem: { hard: 32, used: 0 },
            cpu: { hard: 8, used: 0 },
          },
        },
      })
    })

    it('the compute centers that the enterprise may see, with the fields they have', async () => {
      centers.items = [
        centerWith({ code: 'west-2', id: '2', osmEndpoint: 'https://osm', createdTime: null }),
        centerWith({
          code: 'east-1',
          id: '3',
          enterprises: ['acme'],
          endpoint: 'https://e',
          onlineDate: '2024-01-02 03:04:05',
        }),
        centerWith({ code: 'north-1', id: '4', enterprises: ['rival'] }),
      ]
      const rest = { name: '本地', nameEn: 'Local', country: 'here', address: 'this machine' }
      const { status, json } = await ask('/api/aidc/v1/list')
      expect(status).toBe(200)
      expect(json).toEqual({
        code: 0,
        data: [
          { id: '3', code: 'east-1', ...rest, endpoInt: 'https://e', onlineDate: '2024-01-02 03:04:05' },
          { id: '2', code: 'west-2', ...rest, osmEndpoInt: 'https://osm', createdTime: null },
        ],
      })
    })

    it('Abnormal for a cluster that ran and does not answer', async () => {
      find = () => ({
        cluster: { ...cluster, status: { phase: 'Running' } },
        nodes,
        pods: cacheOf<Pod>(),
        answers: () => false,
      })
      expect((await ask('/api/vks/v1/vks-1')).json).toMatchObject({ code: 0, data: { status: 'Abnormal' } })
    })

    it('HEAD like GET, without a body', async () => {
      const { status, headers, body } = await ask('/api/aidc/v1/list', credential(acme), {
        method: 'HEAD',
        headers: { authorization: credential(acme) },
      })
      expect(status).toBe(200)
      expect(Number(headers.get('content-length'))).toBeGreaterThan(0)
      expect(body).toBe('')
    })

    it('a query and an address in full', async () => {
      expect((await ask('/api/vks/v1/vks-1?x=1')).status).toBe(200)
      const { status } = await sendRaw(
        `GET http://management/api/vks/v1/vks-1 HTTP/1.1\r\nHost: management\r\nConnection: close\r\nAuthorization: ${credential(acme)}\r\n\r\n`,
      )
      expect(status).toBe(200)
    })

    it('/healthz, /readyz and /metrics, and is not ready before it has read the keys', async () => {
      expect(await ask('/healthz', '')).toMatchObject({ status: 200, body: 'ok\n' })
      expect((await ask('/readyz', '')).status).toBe(200)
      keys.synced = false
      expect((await ask('/readyz', '')).status).toBe(503)
      const { body, headers } = await ask('/metrics')
      expect(headers.get('content-type')).toContain('text/plain')
      expect(body).toContain('sluice_management_requests_total{route="readyz",status="503"} 1')
    })
  })

  it('shows its metrics to nobody without a key pair, nor to another enterprise', async () => {
    await restart({ mayReadMetrics: (enterprise) => enterprise === 'acme' })
    const refused = await ask('/metrics', '')
    expect(refused).toMatchObject({ status: 401, json: { code: -1 } })
    expect(refused.body).not.toContain('sluice_')
    for (const pair of [rival, expired, forInference]) {
      expect(await ask('/metrics', credential(pair))).toMatchObject({ status: 401, body: refused.body })
    }
    expect((await ask('/metrics', credential(disabled))).status).toBe(403)
    expect((await ask('/metrics', '', { method: 'HEAD' })).status).toBe(401)
    expect((await ask('/metrics')).body).toContain('sluice_management_requests_total')
  })

  describe('refuses with 401, always in the same words', () => {
    const wrong = generateKeyPair()
    it.each([
      ['nothing', ''],
      ['another scheme', `Bearer ${acme.secretKey}`],
      ['the scheme alone', 'plain'],
      ['no secret', `plain Credential=${acme.accessKey}`],
      ['an empty secret', `plain Credential=${acme.accessKey},Signature=`],
      ['an unknown key', credential(wrong)],
      ['a wrong secret', credential({ ...acme, secretKey: wrong.secretKey })],
      ['another key’s secret', credential({ ...acme, secretKey: rival.secretKey })],
      ['the hash instead of the secret', credential({ ...acme, secretKey: apiKeySpec(acme, 'acme').secretSha256 })],
      ['a disabled key with a wrong secret', credential({ ...disabled, secretKey: wrong.secretKey })],
      ['a key for inference', credential(forInference)],
      ['a key that has expired', credential(expired)],
      ['fields the other way round', `plain Signature=${acme.secretKey},Credential=${acme.accessKey}`],
      ['something more behind it', `${credential(acme)},More=1`],
      ['two spaces', credential(acme).replace(' ', '  ')],
    ])('%s', async (_name, header) => {
      const { status, headers, json } = await ask('/api/vks/v1/vks-1', header)
      expect(status).toBe(401)
      expect(headers.get('content-type')).toBe('application/json')
      expect(json).toEqual({
        code: -1,
        msg: 'Send the header "Authorization: plain Credential=<ACCESS_KEY>,Signature=<SECRET_KEY>" with a valid key pair.',
      })
    })

    it('two headers', async () => {
      const line = `Authorization: ${credential(acme)}\r\n`
      const { status, body } = await sendRaw(
        `GET /api/aidc/v1/list HTTP/1.1\r\nHost: x\r\n${line}${line}Connection: close\r\n\r\n`,
      )
      expect(status).toBe(401)
      expect(JSON.parse(body)).toMatchObject({ code: -1 })
    })

    it('a key that was revoked a moment ago', async () => {
      expect((await ask('/api/aidc/v1/list')).status).toBe(200)
      keys.items = keys.items.slice(1)
      keys.changed()
      expect((await ask('/api/aidc/v1/list')).status).toBe(401)
    })
  })

  describe('refuses', () => {
    it('a disabled key with 403', async () => {
      const { status, json } = await ask('/api/aidc/v1/list', credential(disabled))
      expect(status).toBe(403)
      expect(json).toEqual({ code: -1, msg: 'This API key is disabled.' })
    })

    it.each(['UPPER', 'a_b', '-a', 'a'.repeat(41), '%2e%2e%2fx', 'a%2Fb', '%zz', '', '%00', 'a%20b'])(
      'the malformed ID "%s" with 400',
      async (id) => {
        const { status, json } = await ask(`/api/vks/v1/${id}`)
        expect(status).toBe(400)
        expect(json).toEqual({ code: -1, msg: expect.stringContaining('A cluster ID is made of') })
      },
    )

    it('a malformed ID with 401 first, when the caller is unknown', async () => {
      expect((await ask('/api/vks/v1/UPPER', '')).status).toBe(401)
    })

    it('an unknown cluster and somebody else’s alike, with 404', async () => {
      const unknown = await ask('/api/vks/v1/vks-2', credential(rival))
      const foreign = await ask('/api/vks/v1/vks-1', credential(rival))
      expect(unknown.status).toBe(404)
      expect(foreign.status).toBe(404)
      expect(unknown.json).toEqual({ code: -1, msg: 'There is no cluster vks-2.' })
      expect(foreign.json).toEqual({ code: -1, msg: 'There is no cluster vks-1.' })
      expect([...foreign.headers.keys()].sort()).toEqual([...unknown.headers.keys()].sort())
    })

    it.each([
      '/',
      '/api/vks/v1',
      '/api/vks/v1/a/b',
      '/api/vks/v2/vks-1',
      '/api/aidc/v1/list/',
      '/API/aidc/v1/list',
      '/api//aidc/v1/list',
    ])('the unknown route %s with 404', async (path) => {
      const { status, json } = await ask(path)
      expect(status).toBe(404)
      expect(json).toMatchObject({ code: -1, msg: `There is no ${path} in the management API.` })
    })

    it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
      'the method %s with 405 and what is allowed',
      async (method) => {
        for (const path of ['/api/vks/v1/vks-1', '/api/aidc/v1/list', '/healthz']) {
          const { status, headers, json } = await ask(path, '', { method })
          expect(status).toBe(405)
          expect(headers.get('allow')).toBe('GET, HEAD')
          expect(json).toMatchObject({ code: -1 })
        }
      },
    )

    it('what fails inside with 500, and tells nothing of it', async () => {
      find = () => {
        throw new Error('secret detail at /some/path')
      }
      const { status, json, body } = await ask('/api/vks/v1/vks-1')
      expect(status).toBe(500)
      expect(json).toMatchObject({ code: -1, msg: expect.any(String) })
      expect(body).not.toContain('secret detail')
      expect(logLines.join('')).toContain('secret detail')
    })

    it.each([
      ['no HTTP at all', 'hello\r\n\r\n', 400],
      ['no Host', 'GET /api/aidc/v1/list HTTP/1.1\r\n\r\n', 400],
      ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', 400],
      [
        'both lengths',
        'GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
        400,
      ],
      ['a space before the colon', 'GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n', 400],
      ['an expectation', 'GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nConnection: close\r\n\r\n', 400],
      ['endless headers', `GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
      ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 405],
    ])('%s, in the same envelope', async (_name, bytes, expected) => {
      const { status, head, body } = await sendRaw(bytes)
      expect(status).toBe(expected)
      expect(head).toContain('content-type: application/json')
      expect(JSON.parse(body)).toEqual({ code: -1, msg: expect.any(String) })
    })

    it('a key that was wrong too often, unheard and with the time to wait, and nobody else', async () => {
      const wrong = { ...acme, secretKey: 'wrong-secret-of-somebody' }
      let failures = 0
      // A slow machine has time for a few more.
      while ((await ask('/api/aidc/v1/list', credential(wrong))).status === 401 && failures < 1_000) failures += 1
      expect(failures).toBeGreaterThanOrEqual(60)
      expect(failures).toBeLessThan(1_000)
      const refused = await ask('/api/aidc/v1/list', credential(acme))
      expect(refused.status).toBe(429)
      expect(refused.json).toEqual({ code: -1, msg: expect.any(String) })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await ask('/api/aidc/v1/list', credential(rival))).status).toBe(200)
      const lines = logLines.join('')
      expect(lines).toContain(`"source":"127.0.0.1","key":"${acme.accessKey.toLowerCase()}"`)
      expect(lines).toContain('refused unheard')
      expect(lines).not.toContain(wrong.secretKey)
    })

    it('an unknown key without a word of it in the log, for it may be a secret in the wrong place', async () => {
      const swapped = { accessKey: acme.secretKey, secretKey: acme.accessKey }
      expect((await ask('/api/aidc/v1/list', credential(swapped))).status).toBe(401)
      expect(logLines.join('')).toContain('"key":null')
      expect(logLines.join('')).not.toContain(acme.secretKey)
    })

    it('a head that does not arrive with 408', async () => {
      await restart({ limits: { headMs: 100, requestMs: 100 } })
      const { status, body } = await sendRaw('GET /healthz HTTP/1.1\r\nHost: a\r\n')
      expect(status).toBe(408)
      expect(JSON.parse(body)).toMatchObject({ code: -1 })
    })

    it('to start on a port that is taken, and says how to choose another', async () => {
      const second = new ManagementServer({
        host: '127.0.0.1',
        port: server.port,
        keys,
        centers,
        clusters: { find: () => undefined },
        clock: systemClock,
        log: createLogger({ level: 'silent' }),
        metrics: new Metrics(),
      })
      await expect(second.start()).rejects.toMatchObject({ code: 'port_in_use' })
      await second.stop()
    })
  })

  it('does not wait for a body it will not read, and logs no secret', async () => {
    const { status, head } = await sendRaw(
      `GET /api/aidc/v1/list HTTP/1.1\r\nHost: a\r\nAuthorization: ${credential(acme)}\r\nContent-Length: 1000000\r\n\r\n`,
    )
    expect(status).toBe(200)
    expect(head).toContain('connection: close')
    expect(logLines.join('')).not.toContain(acme.secretKey)
  })

  it('stops though somebody keeps a connection open', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => {})
    await new Promise((resolve) => {
      socket.once('connect', resolve)
    })
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n')
    await server.stop(AbortSignal.timeout(50))
    await expect(ask('/healthz')).rejects.toThrow('fetch failed')
    socket.destroy()
  })
})
