import { describe, expect, it } from 'vitest'
import { apiKeySpec, generateKeyPair } from './key-pair.ts'
import { ManagementServer } from './management-server.ts'
import { systemClock } from '../foundation/clock.ts'
import { createLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import {
  ManagementStage,
  acme,
  credential,
  disabled,
  expired,
  forInference,
  rival,
} from './management-stage.fixture.ts'

describe('ManagementServer', () => {
  const stage = new ManagementStage()

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
      const { status, headers, json } = await stage.ask('/api/vks/v1/vks-1', header)
      expect(status).toBe(401)
      expect(headers.get('content-type')).toBe('application/json')
      expect(json).toEqual({
        code: -1,
        msg: 'Send the header "Authorization: plain Credential=<ACCESS_KEY>,Signature=<SECRET_KEY>" with a valid key pair.',
      })
    })

    it('two headers', async () => {
      const line = `Authorization: ${credential(acme)}\r\n`
      const { status, body } = await stage.sendRaw(
        `GET /api/aidc/v1/list HTTP/1.1\r\nHost: x\r\n${line}${line}Connection: close\r\n\r\n`,
      )
      expect(status).toBe(401)
      expect(JSON.parse(body)).toMatchObject({ code: -1 })
    })

    it('a key that was revoked a moment ago', async () => {
      expect((await stage.ask('/api/aidc/v1/list')).status).toBe(200)
      stage.keys.items = stage.keys.items.slice(1)
      stage.keys.changed()
      expect((await stage.ask('/api/aidc/v1/list')).status).toBe(401)
    })
  })

  describe('refuses', () => {
    it('a disabled key with 403', async () => {
      const { status, json } = await stage.ask('/api/aidc/v1/list', credential(disabled))
      expect(status).toBe(403)
      expect(json).toEqual({ code: -1, msg: 'This API key is disabled.' })
    })

    it.each(['UPPER', 'a_b', '-a', 'a'.repeat(41), '%2e%2e%2fx', 'a%2Fb', '%zz', '', '%00', 'a%20b'])(
      'the malformed ID "%s" with 400',
      async (id) => {
        const { status, json } = await stage.ask(`/api/vks/v1/${id}`)
        expect(status).toBe(400)
        expect(json).toEqual({ code: -1, msg: expect.stringContaining('A cluster ID is made of') })
      },
    )

    it('a malformed ID with 401 first, when the caller is unknown', async () => {
      expect((await stage.ask('/api/vks/v1/UPPER', '')).status).toBe(401)
    })

    it('an unknown cluster and somebody else’s alike, with 404', async () => {
      const unknown = await stage.ask('/api/vks/v1/vks-2', credential(rival))
      const foreign = await stage.ask('/api/vks/v1/vks-1', credential(rival))
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
      const { status, json } = await stage.ask(path)
      expect(status).toBe(404)
      expect(json).toMatchObject({ code: -1, msg: `There is no ${path} in the management API.` })
    })

    it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
      'the method %s with 405 and what is allowed',
      async (method) => {
        for (const path of ['/api/vks/v1/vks-1', '/api/aidc/v1/list', '/healthz']) {
          const { status, headers, json } = await stage.ask(path, '', { method })
          expect(status).toBe(405)
          expect(headers.get('allow')).toBe('GET, HEAD')
          expect(json).toMatchObject({ code: -1 })
        }
      },
    )

    it('what fails inside with 500, and tells nothing of it', async () => {
      stage.find = () => {
        throw new Error('secret detail at /some/path')
      }
      const { status, json, body } = await stage.ask('/api/vks/v1/vks-1')
      expect(status).toBe(500)
      expect(json).toMatchObject({ code: -1, msg: expect.any(String) })
      expect(body).not.toContain('secret detail')
      expect(stage.logLines.join('')).toContain('secret detail')
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
      const { status, head, body } = await stage.sendRaw(bytes)
      expect(status).toBe(expected)
      expect(head).toContain('content-type: application/json')
      expect(JSON.parse(body)).toEqual({ code: -1, msg: expect.any(String) })
    })

    it('a key that was wrong too often, unheard and with the time to wait, and nobody else', async () => {
      const wrong = { ...acme, secretKey: 'wrong-secret-of-somebody' }
      let failures = 0
      // A slow machine takes long enough for a few more attempts to be allowed.
      while ((await stage.ask('/api/aidc/v1/list', credential(wrong))).status === 401 && failures < 1_000) failures += 1
      expect(failures).toBeGreaterThanOrEqual(60)
      expect(failures).toBeLessThan(1_000)
      const refused = await stage.ask('/api/aidc/v1/list', credential(acme))
      expect(refused.status).toBe(429)
      expect(refused.json).toEqual({ code: -1, msg: expect.any(String) })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await stage.ask('/api/aidc/v1/list', credential(rival))).status).toBe(200)
      const lines = stage.logLines.join('')
      expect(lines).toContain(`"source":"127.0.0.1","key":"${acme.accessKey.toLowerCase()}"`)
      expect(lines).toContain('refused unheard')
      expect(lines).not.toContain(wrong.secretKey)
    })

    it('an unknown key without a word of it in the log, for it may be a secret in the wrong place', async () => {
      const swapped = { accessKey: acme.secretKey, secretKey: acme.accessKey }
      expect((await stage.ask('/api/aidc/v1/list', credential(swapped))).status).toBe(401)
      expect(stage.logLines.join('')).toContain('"key":null')
      expect(stage.logLines.join('')).not.toContain(acme.secretKey)
    })

    it('a head that does not arrive with 408', async () => {
      await stage.restart({ limits: { headMs: 100, requestMs: 100 } })
      const { status, body } = await stage.sendRaw('GET /healthz HTTP/1.1\r\nHost: a\r\n')
      expect(status).toBe(408)
      expect(JSON.parse(body)).toMatchObject({ code: -1 })
    })

    it('to start on a port that is taken, and says how to choose another', async () => {
      const second = new ManagementServer({
        host: '127.0.0.1',
        port: stage.server.port,
        keys: stage.keys,
        centers: stage.centers,
        clusters: { find: () => undefined },
        clock: systemClock,
        log: createLogger({ level: 'silent' }),
        metrics: new Metrics(),
      })
      await expect(second.start()).rejects.toMatchObject({ code: 'port_in_use' })
      await second.stop()
    })
  })
})
