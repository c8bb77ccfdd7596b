import type { Pod } from '../resources/pod.ts'
import { describe, expect, it } from 'vitest'
import { connect } from 'node:net'
import {
  ManagementStage,
  acme,
  cacheOf,
  centerWith,
  credential,
  disabled,
  expired,
  forInference,
  rival,
} from './management-stage.fixture.ts'

describe('ManagementServer', () => {
  const stage = new ManagementStage()

  describe('answers', () => {
    it('the detail of a cluster', async () => {
      const { status, headers, json } = await stage.ask('/api/vks/v1/vks-1')
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
      stage.centers.items = [
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
      const { status, json } = await stage.ask('/api/aidc/v1/list')
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
      stage.find = () => ({
        cluster: { ...stage.cluster, status: { phase: 'Running' } },
        nodes: stage.nodes,
        pods: cacheOf<Pod>(),
        answers: () => false,
      })
      expect((await stage.ask('/api/vks/v1/vks-1')).json).toMatchObject({ code: 0, data: { status: 'Abnormal' } })
    })

    it('HEAD like GET, without a body', async () => {
      const { status, headers, body } = await stage.ask('/api/aidc/v1/list', credential(acme), {
        method: 'HEAD',
        headers: { authorization: credential(acme) },
      })
      expect(status).toBe(200)
      expect(Number(headers.get('content-length'))).toBeGreaterThan(0)
      expect(body).toBe('')
    })

    it('a query and an address in full', async () => {
      expect((await stage.ask('/api/vks/v1/vks-1?x=1')).status).toBe(200)
      const { status } = await stage.sendRaw(
        `GET http://management/api/vks/v1/vks-1 HTTP/1.1\r\nHost: management\r\nConnection: close\r\nAuthorization: ${credential(acme)}\r\n\r\n`,
      )
      expect(status).toBe(200)
    })

    it('/healthz, /readyz and /metrics, and is not ready before it has read the keys', async () => {
      expect(await stage.ask('/healthz', '')).toMatchObject({ status: 200, body: 'ok\n' })
      expect((await stage.ask('/readyz', '')).status).toBe(200)
      stage.keys.synced = false
      expect((await stage.ask('/readyz', '')).status).toBe(503)
      const { body, headers } = await stage.ask('/metrics')
      expect(headers.get('content-type')).toContain('text/plain')
      expect(body).toContain('sluice_management_requests_total{route="readyz",status="503"} 1')
    })
  })

  it('shows its metrics to nobody without a key pair, nor to another enterprise', async () => {
    await stage.restart({ mayReadMetrics: (enterprise) => enterprise === 'acme' })
    const refused = await stage.ask('/metrics', '')
    expect(refused).toMatchObject({ status: 401, json: { code: -1 } })
    expect(refused.body).not.toContain('sluice_')
    for (const pair of [rival, expired, forInference]) {
      expect(await stage.ask('/metrics', credential(pair))).toMatchObject({ status: 401, body: refused.body })
    }
    expect((await stage.ask('/metrics', credential(disabled))).status).toBe(403)
    expect((await stage.ask('/metrics', '', { method: 'HEAD' })).status).toBe(401)
    expect((await stage.ask('/metrics')).body).toContain('sluice_management_requests_total')
  })

  it('does not wait for a body it will not read, and logs no secret', async () => {
    const { status, head } = await stage.sendRaw(
      `GET /api/aidc/v1/list HTTP/1.1\r\nHost: a\r\nAuthorization: ${credential(acme)}\r\nContent-Length: 1000000\r\n\r\n`,
    )
    expect(status).toBe(200)
    expect(head).toContain('connection: close')
    expect(stage.logLines.join('')).not.toContain(acme.secretKey)
  })

  it('stops though somebody keeps a connection open', async () => {
    const socket = connect(stage.server.port, '127.0.0.1')
    socket.on('error', () => {})
    await new Promise((resolve) => {
      socket.once('connect', resolve)
    })
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n')
    await stage.server.stop(AbortSignal.timeout(50))
    await expect(stage.ask('/healthz')).rejects.toThrow('fetch failed')
    socket.destroy()
  })
})
