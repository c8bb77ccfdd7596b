import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type * as http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeModel } from '../traffic/cluster-view.fixture.ts'
import { postJson, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const ask = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }

const answerOk = (_request: unknown, response: http.ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"chat.completion"}')

describe('what the gateway forwards', () => {
  it('is byte for byte what came in, on the path the table names', async () => {
    const upstream = await startUpstream(answerOk)
    const { url, addPod } = await startGateway()
    addPod('one', upstream.port)
    const body = '{ "model":"tiny",\n "messages" : [], "ünknown": 1.0e3 }'
    const headers = { authorization: 'Bearer dummy', 'x-sluice-model': 'x' }
    const response = await postJson(`${url}${chat}?a=b%20c`, body, { headers })
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('{"object":"chat.completion"}')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const [received] = upstream.received
    expect(received?.url).toBe('/v1/chat/completions?a=b%20c')
    expect(received?.body.toString()).toBe(body)
    expect(received?.headers['authorization']).toBe('Bearer dummy')
    expect(received?.headers['x-sluice-model']).toBeUndefined()
  })

  it('carries the request id in, up, out and into the one log line', async () => {
    const upstream = await startUpstream(answerOk)
    const { url, addPod, requestLines } = await startGateway()
    addPod('one', upstream.port)
    const response = await postJson(url + chat, ask, { headers: { 'x-request-id': 'abc-1' } })
    expect(response.headers.get('x-request-id')).toBe('abc-1')
    expect(upstream.received[0]?.headers['x-request-id']).toBe('abc-1')
    await response.text()
    await until(() => requestLines().length > 0)
    expect(requestLines()).toMatchObject([
      {
        requestId: 'abc-1',
        route: 'chat/completions',
        model: 'tiny',
        endpoint: 'one',
        status: 200,
        waitMs: 0,
        bytes: 28,
      },
    ])
  })

  it('gives each request that has none an id of its own, the same everywhere', async () => {
    const upstream = await startUpstream(answerOk)
    const { url, addPod, requestLines } = await startGateway()
    addPod('one', upstream.port)
    const told: Array<string | null> = []
    for (let count = 0; count < 3; count++) {
      const response = await postJson(url + chat, ask)
      told.push(response.headers.get('x-request-id'))
      await response.text()
    }
    expect(new Set(told).size).toBe(3)
    expect(upstream.received.map(({ headers }) => headers['x-request-id'])).toEqual(told)
    await until(() => requestLines().length === 3)
    expect(requestLines().map(({ requestId }) => requestId)).toEqual(told)
  })

  it('replaces a request id that is not fit for a header', async () => {
    const { url } = await startGateway()
    const response = await fetch(`${url}/v1/models`, { headers: { 'x-request-id': 'a b"' } })
    expect(response.headers.get('x-request-id')).toMatch(/^req-[0-9a-f]{24}-\d+$/)
  })

  it('finds the model in a form, wherever it stands', async () => {
    const upstream = await startUpstream(answerOk)
    const { url, addPod } = await startGateway()
    addPod('one', upstream.port)
    const form = new FormData()
    form.set('file', new Blob([Buffer.alloc(100_000, 1)]), 'a.wav')
    form.set('model', 'tiny')
    const response = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body: form })
    expect(response.status).toBe(200)
    expect(upstream.received[0]?.url).toBe('/v1/audio/transcriptions')
    expect(upstream.received[0]?.body.length).toBeGreaterThan(100_000)
  })

  it('passes errors of the model through unchanged', async () => {
    const upstream = await startUpstream((_request, response) =>
      response.writeHead(422, { 'content-type': 'application/json', 'x-engine': 'e' }).end('{"detail":"no"}'),
    )
    const { url, addPod } = await startGateway()
    addPod('one', upstream.port)
    const response = await postJson(url + chat, ask)
    expect([response.status, response.headers.get('x-engine'), await response.text()]).toEqual([
      422,
      'e',
      '{"detail":"no"}',
    ])
  })
})

it.each(['/openai/api/v1/page', '/openai/gradio_api/v1/file'])(
  'lets no answer of %s run in a browser',
  async (path) => {
    const upstream = await startUpstream((_request, response) =>
      response.writeHead(200, { 'Content-Security-Policy': 'script-src *', 'content-type': 'text/html' }).end('<p>'),
    )
    const { url, addPod } = await startGateway()
    addPod('one', upstream.port)
    for (let time = 0; time < 3; time++) {
      const { headers } = await fetch(url + path)
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-type')).toBe('text/html')
    }
  },
)

describe('which model a pass-through is for', () => {
  it.each([
    [
      'the header',
      '?model=other',
      { 'x-sluice-model': 'tiny', 'content-type': 'application/json' },
      '{"model":"other"}',
    ],
    ['the query', '?model=tiny', { 'content-type': 'application/json' }, '{"model":"other"}'],
    ['the JSON body', '', { 'content-type': 'application/json' }, '{"model":"tiny"}'],
  ])('is said by %s', async (_case, query, headers, body) => {
    const upstream = await startUpstream(answerOk)
    const { url, addPod, requestLines } = await startGateway({ models: [fakeModel('tiny'), fakeModel('other')] })
    addPod('one', upstream.port)
    const response = await fetch(`${url}/openai/api/v1/x/y${query}`, { method: 'PUT', headers, body })
    await response.text()
    expect(upstream.received[0]).toMatchObject({ method: 'PUT', url: `/api/v1/x/y${query}` })
    expect(upstream.received[0]?.body.toString()).toBe(body)
    await until(() => requestLines().length > 0)
    expect(requestLines()[0]).toMatchObject({ model: 'tiny', route: 'api' })
  })

  it('is the only one there is', async () => {
    const upstream = await startUpstream(answerOk)
    const { url, addPod } = await startGateway()
    addPod('one', upstream.port)
    expect((await fetch(`${url}/openai/gradio_api/v1/info`)).status).toBe(200)
    expect(upstream.received[0]?.url).toBe('/gradio_api/v1/info')
  })

  it('must be said when there are several', async () => {
    const { url } = await startGateway({ models: [fakeModel('tiny'), fakeModel('other')] })
    const response = await fetch(`${url}/openai/api/v1/x`)
    expect(response.status).toBe(400)
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect(error.code).toBe('model_required')
    expect(error.message).toContain('other, tiny')
  })
})

describe('what the gateway refuses', () => {
  it.each([
    ['an unknown model', chat, { model: 'nope' }, 404, 'model_not_found', 'model'],
    ['no model', chat, { messages: [] }, 400, 'model_required', 'model'],
    ['broken JSON', chat, '{"model":', 400, 'invalid_json', null],
    ['no JSON object', chat, '[]', 400, 'invalid_json', null],
    ['an unknown route', '/openai/v1/images', ask, 404, 'route_not_found', null],
    ['a wrong method', '/openai/v1/models', ask, 405, 'method_not_allowed', null],
    ['JSON where a form belongs', '/v1/audio/transcriptions', ask, 415, 'unsupported_media_type', null],
    ['a body over the limit', chat, { model: 'tiny', text: 'x'.repeat(2_000) }, 413, 'body_too_large', null],
  ])('%s', async (_case, path, body, status, code, param) => {
    const { url } = await startGateway({ gateway: { settings: { maxBodyBytes: 1_000 } } })
    const response = await postJson(url + path, body)
    expect(response.status).toBe(status)
    const { error } = (await response.json()) as { error: Record<string, unknown> }
    expect(error).toMatchObject({ code, param })
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type'])
  })

  it('more waiters than the room holds, and those that wait too long', async () => {
    const { url, clock, pool } = await startGateway({ traffic: { waitingRoomSize: 1, wakeDeadlineMs: 60_000 } })
    const first = postJson(url + chat, ask)
    await until(() => pool.sample('tiny')?.waiting === 1)
    const second = await postJson(url + chat, ask)
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '5'])
    await clock.advance(60_000)
    const late = await first
    expect(late.status).toBe(503)
    expect(await late.json()).toMatchObject({ error: { code: 'wake_deadline', type: 'server_error' } })
  })

  it('a Model that cannot start, at once and with the reason', async () => {
    const { url, models, pool } = await startGateway()
    const waiting = postJson(url + chat, ask)
    await until(() => pool.sample('tiny')?.waiting === 1)
    models.put(fakeModel('tiny', 'Failed', 'VLLM is not on this machine'))
    const response = await waiting
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, 'false'])
    expect(await response.json()).toMatchObject({
      error: { code: 'model_unavailable', message: 'The model tiny cannot start: VLLM is not on this machine' },
    })
  })
})

describe('invalid JSON', () => {
  it.each([
    ['', 'it is empty'],
    ['{"model":', 'it ends too early'],
    ["{'model'}", 'it has an unexpected character at position 1'],
    ['{"model": hello}', 'it has an unexpected character'],
  ])('%j is explained: %s', async (body, reason) => {
    const { url } = await startGateway()
    const response = await postJson(url + chat, body)
    expect(await response.json()).toMatchObject({
      error: { message: `The request body is not valid JSON: ${reason}.`, code: 'invalid_json' },
    })
  })
})

it('leaves it to a model that is awake to say what is wrong with a body that names it', async () => {
  const refusal = '{"error":{"message":"unexpected character at position 27"}}'
  const upstream = await startUpstream((_request, response) => void response.writeHead(400).end(refusal))
  const { url, addPod } = await startGateway()
  addPod('one', upstream.port)
  const body = '{"model":"tiny","messages":[1,]}'
  const response = await postJson(url + chat, body)
  expect([response.status, await response.text()]).toEqual([400, refusal])
  expect(upstream.received[0]?.body.toString()).toBe(body)
})

describe('what the gateway answers by itself', () => {
  it('serves the chat page at its address, with the page’s own rules and no others', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    await writeFile(join(directory, 'index.html'), '<title>chat</title>')
    const { url } = await startGateway({ gateway: { chatPageDirectory: directory } })
    const page = await fetch(`${url}/`)
    expect([page.status, await page.text()]).toEqual([200, '<title>chat</title>'])
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(page.headers.get('access-control-allow-origin')).toBeNull()
    const again = await fetch(`${url}/`, { headers: { 'if-none-match': page.headers.get('etag') ?? '' } })
    expect(again.status).toBe(304)
    expect((await fetch(`${url}/secret`)).status).toBe(404)
  })

  it('does without a chat page whose files are missing', async () => {
    const { url } = await startGateway({ gateway: { chatPageDirectory: '/nonexistent/page' } })
    expect((await fetch(`${url}/`)).status).toBe(404)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  it('lists the models as OpenAI does, with their phase', async () => {
    const { url } = await startGateway({ models: [fakeModel('tiny', 'Waking', 'loading')] })
    const tiny = {
      id: 'tiny',
      object: 'model',
      created: Date.UTC(2030, 0, 1) / 1000,
      owned_by: 'somebody',
      sluice: { phase: 'Waking', message: 'loading', features: ['TextGeneration'] },
    }
    const list = await fetch(`${url}/openai/v1/models`)
    expect(await list.json()).toEqual({ object: 'list', data: [tiny] })
    expect(await (await fetch(`${url}/v1/models/tiny`)).json()).toEqual(tiny)
    expect((await fetch(`${url}/v1/models/nope`)).status).toBe(404)
  })

  it('tells how far a model is that loads, and how long it took last time', async () => {
    const loading = { phase: 'Reading', percent: 45, progress: '45 %', since: 'a', movedAt: 'b' } as const
    const model = fakeModel('tiny', 'Waking', 'loading')
    const { url } = await startGateway({
      models: [{ ...model, status: { ...model.status, loading, lastLoadSeconds: 42 } }],
    })
    expect(await (await fetch(`${url}/v1/models/tiny`)).json()).toMatchObject({
      sluice: { phase: 'Waking', message: 'loading', loading, lastLoadSeconds: 42 },
    })
  })

  it('says in one word what a model lacks, and that files on their way are not missing', async () => {
    const lacking = (name: string, files: string) => {
      const model = fakeModel(name, 'Asleep', 'There are no files.')
      const conditions = [
        { type: 'Ready', status: 'False' as const, reason: 'FilesMissing' },
        { type: 'FilesPresent', status: 'False' as const, reason: files },
      ]
      return { ...model, status: { ...model.status, conditions } }
    }
    const { url } = await startGateway({ models: [lacking('never', 'Missing'), lacking('soon', 'OnTheirWay')] })
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as {
      data: Array<{ id: string; sluice: { reason: string } }>
    }
    expect(data.map(({ id, sluice }) => [id, sluice.reason])).toEqual([
      ['never', 'FilesMissing'],
      ['soon', 'FilesOnTheirWay'],
    ])
  })

  it('answers a preflight with what was asked for', async () => {
    const { url } = await startGateway()
    const headers = {
      origin: 'https://elsewhere.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    }
    const response = await fetch(url + chat, { method: 'OPTIONS', headers })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-methods')).toBe('POST')
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization,content-type')
  })

  it('says that it is alive and ready, and what it counted', async () => {
    const { url, models } = await startGateway()
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    models.synced = false
    expect((await fetch(`${url}/readyz`)).status).toBe(503)
    const text = await (await fetch(`${url}/metrics`)).text()
    expect(text).toContain('sluice_gateway_requests_total{route="readiness",model="",status="503"} 1')
    expect(text).toContain('sluice_gateway_in_flight_requests 1')
  })
})
