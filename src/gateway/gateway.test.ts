import type * as http from 'node:http'
import * as net from 'node:net'
import { describe, expect, it } from 'vitest'
import { fakeModel, fakePod } from '../traffic/cluster-view.fixture.ts'
import { postJson, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const ask = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }

const answerOk = (_request: unknown, response: http.ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"chat.completion"}')

describe('what the gateway forwards', () => {
  it('is byte for byte what came in, on the path the table names, without the key', async () => {
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
    expect(received?.headers['authorization']).toBeUndefined()
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

  it('replaces a request id that is not fit for a header', async () => {
    const { url } = await startGateway()
    const response = await fetch(`${url}/v1/models`, { headers: { 'x-request-id': 'a b"' } })
    expect(response.headers.get('x-request-id')).toMatch(/^req-[0-9a-f-]{36}$/)
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

describe('what the gateway answers by itself', () => {
  it('lists the models as OpenAI does, with their phase', async () => {
    const { url } = await startGateway({ models: [fakeModel('tiny', 'Waking', 'loading')] })
    const tiny = {
      id: 'tiny',
      object: 'model',
      created: Date.UTC(2030, 0, 1) / 1000,
      owned_by: 'somebody',
      sluice: { phase: 'Waking', message: 'loading' },
    }
    const list = await fetch(`${url}/openai/v1/models`)
    expect(await list.json()).toEqual({ object: 'list', data: [tiny] })
    expect(await (await fetch(`${url}/v1/models/tiny`)).json()).toEqual(tiny)
    expect((await fetch(`${url}/v1/models/nope`)).status).toBe(404)
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

describe('a sleeping model', () => {
  it('is woken once by 1,000 simultaneous requests, and answers all of them', async () => {
    const upstream = await startUpstream(answerOk)
    const { url, pool, addPod } = await startGateway()
    const wakes: string[] = []
    pool.onFirstWaiter((model) => wakes.push(model))
    const answers = Array.from({ length: 1_000 }, async () => {
      const response = await postJson(url + chat, ask)
      await response.text()
      return response.status
    })
    await until(() => pool.sample('tiny')?.waiting === 1_000)
    addPod('one', upstream.port)
    const statuses = await Promise.all(answers)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1_000)
    expect(wakes).toEqual(['tiny'])
    await until(() => pool.sample('tiny')?.active === 0)
  })

  it('keeps a streamed request informed while it wakes, then streams the answer', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('data: {"choices":[]}\n\ndata: [DONE]\n\n')
    })
    const { url, clock, models, pool, addPod, requestLines } = await startGateway()
    const asking = postJson(url + chat, { ...ask, stream: true })
    await until(() => pool.sample('tiny')?.waiting === 1)
    models.put(fakeModel('tiny', 'Waking', 'loading\nweights'))
    await clock.advance(3_500)
    const response = await asking
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('x-request-id')).toBeTruthy()
    addPod('one', upstream.port)
    expect(await response.text()).toBe(
      ': waking tiny: Waking, loading weights, 2 s\n\n: waking tiny: Waking, loading weights, 3 s\n\n' +
        'data: {"choices":[]}\n\ndata: [DONE]\n\n',
    )
    await until(() => requestLines().length > 0)
    expect(requestLines()[0]).toMatchObject({ status: 200, waitMs: 3_500, endpoint: 'one' })
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
    expect(clock.pendingTimers).toBe(0)
  })

  it.each([
    ['as it is', '{"error":{"message":"too long"}}', '{"error":{"message":"too long"}}'],
    ['made into one', 'oops', '"code":"upstream_failed"'],
  ])('tells an error of the woken model as an event, %s', async (_case, body, expected) => {
    const upstream = await startUpstream((_request, response) => void response.writeHead(400).end(body))
    const { url, clock, pool, addPod } = await startGateway()
    const asking = postJson(url + chat, { ...ask, stream: true })
    await until(() => pool.sample('tiny')?.waiting === 1)
    await clock.advance(2_000)
    const response = await asking
    addPod('one', upstream.port)
    const text = await response.text()
    expect(text).toContain(expected)
    expect(text).toMatch(/\n\ndata: \{"error":\{.*\}\}\n\ndata: \[DONE\]\n\n$/)
  })

  it('tells an informed client as an event that the model cannot start', async () => {
    const { url, clock, models, pool, requestLines } = await startGateway()
    const asking = postJson(url + chat, { ...ask, stream: true })
    await until(() => pool.sample('tiny')?.waiting === 1)
    await clock.advance(2_000)
    const response = await asking
    models.put(fakeModel('tiny', 'Failed', 'no card is free'))
    expect(await response.text()).toMatch(
      /data: \{"error":\{"message":"The model tiny cannot start: no card is free".*\n\ndata: \[DONE\]\n\n$/,
    )
    await until(() => requestLines().length > 0)
    expect(requestLines()[0]).toMatchObject({ status: 503, errorCode: 'model_unavailable' })
  })

  it('forgets a client that leaves while it waits', async () => {
    const { url, pool, requestLines } = await startGateway()
    const client = new AbortController()
    const asking = postJson(url + chat, ask, { signal: client.signal }).catch((error: unknown) => String(error))
    await until(() => pool.sample('tiny')?.waiting === 1)
    client.abort()
    expect(await asking).toContain('Abort')
    await until(() => pool.sample('tiny')?.waiting === 0 && requestLines().length === 1)
    expect(requestLines()[0]).toMatchObject({ status: 499, errorCode: 'client_gone' })
  })
})

describe('an endpoint that fails', () => {
  it('before its first byte costs the client nothing: another one answers', async () => {
    const good = await startUpstream(answerOk)
    const bad = await startUpstream((_request, response) => void response.socket?.destroy())
    const { url, addPod, pool, requestLines } = await startGateway()
    addPod('a-bad', bad.port)
    addPod('b-good', good.port)
    const body = JSON.stringify(ask)
    const statuses = await Promise.all([1, 2, 3, 4].map(async () => (await postJson(url + chat, body)).status))
    expect(statuses).toEqual([200, 200, 200, 200])
    expect(good.received.every((request) => request.body.toString() === body)).toBe(true)
    expect(bad.received.length).toBeGreaterThan(0)
    await until(() => requestLines().length === 4)
    expect(requestLines().every(({ endpoint }) => endpoint === 'b-good')).toBe(true)
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })

  it('because nothing listens there is left for one that listens', async () => {
    const gone = await startUpstream(answerOk)
    await new Promise((resolve) => gone.server.close(resolve))
    const good = await startUpstream(answerOk)
    const { url, addPod } = await startGateway()
    addPod('a-gone', gone.port)
    addPod('b-good', good.port)
    expect((await postJson(url + chat, ask)).status).toBe(200)
    expect((await postJson(url + chat, ask)).status).toBe(200)
  })

  it('every time is given up after three tries', async () => {
    const bad = await startUpstream((_request, response) => void response.socket?.destroy())
    const { url, addPod, requestLines } = await startGateway()
    addPod('bad', bad.port)
    const response = await postJson(url + chat, ask)
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ error: { code: 'upstream_failed' } })
    expect(bad.received).toHaveLength(3)
    await until(() => requestLines().length > 0)
    expect(requestLines()[0]).toMatchObject({ attempts: 3, status: 502 })
  })

  it('in the middle of an event stream ends it with an error event', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"n":1}\n\n', () => response.socket?.destroy())
    })
    const { url, addPod, pool, requestLines } = await startGateway()
    addPod('one', upstream.port)
    const response = await postJson(url + chat, { ...ask, stream: true })
    const text = await response.text()
    expect(text.startsWith('data: {"n":1}\n\n')).toBe(true)
    expect(text).toContain('"code":"upstream_broke_off"')
    await until(() => pool.sample('tiny')?.active === 0 && requestLines().length === 1)
    expect(requestLines()[0]).toMatchObject({ complete: false })
  })

  it('in the middle of another answer is seen by the client as a cut', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      response.write('{"half":', () => response.socket?.destroy())
    })
    const { url, addPod, pool } = await startGateway()
    addPod('one', upstream.port)
    const response = await postJson(url + chat, ask)
    await expect(response.text()).rejects.toThrow('terminated')
    await until(() => pool.sample('tiny')?.active === 0)
  })
})

describe('a client that leaves', () => {
  it('in the middle of a stream ends the work at the model within 100 ms', async () => {
    let endedAt = 0
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {}\n\n')
      response.on('close', () => (endedAt = performance.now()))
    })
    const { url, addPod, pool, requestLines } = await startGateway()
    addPod('one', upstream.port)
    const client = new AbortController()
    const response = await postJson(url + chat, { ...ask, stream: true }, { signal: client.signal })
    await response.body?.getReader().read()
    expect(pool.sample('tiny')?.active).toBe(1)
    const leftAt = performance.now()
    client.abort()
    await until(() => endedAt > 0 && pool.sample('tiny')?.active === 0)
    expect(endedAt - leftAt).toBeLessThan(100)
    await until(() => requestLines().length > 0)
    // The endpoint did nothing wrong and goes on being used.
    expect(pool.inFlightByEndpoint('tiny')).toEqual(new Map([['one', 0]]))
  })
})

describe('a gateway that stops', () => {
  it('lets a stream finish within the grace, and tells one that does not that it ends', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {}\n\n')
    })
    const { url, port, addPod, gateway } = await startGateway()
    addPod('one', upstream.port)
    const response = await postJson(url + chat, { ...ask, stream: true })
    await gateway.close({ graceMs: 20 })
    expect(await response.text()).toContain('"code":"stopping"')
    const refused = await new Promise((resolve) => {
      net.connect(port, '127.0.0.1').on('error', resolve).on('connect', resolve)
    })
    expect(refused).toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('answers those that wait with 503', async () => {
    const { url, pool, gateway } = await startGateway()
    const asking = postJson(url + chat, ask)
    await until(() => pool.sample('tiny')?.waiting === 1)
    await gateway.close({ graceMs: 0 })
    expect((await asking).status).toBe(503)
  })
})

describe('upgrades', () => {
  it('go through to the model on pass-through routes', async () => {
    const upstream = await startUpstream(answerOk)
    upstream.server.on('upgrade', (request: http.IncomingMessage, socket: net.Socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
      socket.write(`${request.url} `)
      socket.pipe(socket)
    })
    const { port, pods, pool } = await startGateway()
    pods.put(fakePod('one', { host: '127.0.0.1', port: upstream.port }))
    const socket = net.connect(port, '127.0.0.1')
    socket.write('GET /openai/api/v1/ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await until(() => text.includes('/api/v1/ws'))
    socket.write('hello')
    await until(() => text.endsWith('hello'))
    expect(text).toContain('101')
    expect(pool.sample('tiny')?.active).toBe(1)
    socket.destroy()
    await until(() => pool.sample('tiny')?.active === 0)
  })
})
