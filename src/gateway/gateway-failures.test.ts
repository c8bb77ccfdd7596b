import type * as http from 'node:http'
import * as net from 'node:net'
import { describe, expect, it } from 'vitest'
import { createLogger } from '../foundation/log.ts'
import { fakePod } from '../traffic/cluster-view.fixture.ts'
import { postJson, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const ask = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }

const answerOk = (_request: unknown, response: http.ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"chat.completion"}')

describe('an endpoint that fails', () => {
  it('with 1,000 requests waiting for their first byte costs none of them', async () => {
    const dying = await startUpstream(() => {})
    const good = await startUpstream(answerOk)
    const { url, addPod, pool, pods } = await startGateway()
    addPod('dying', dying.port)
    const answers = Array.from({ length: 1_000 }, async () => {
      const response = await postJson(url + chat, ask)
      await response.text()
      return response.status
    })
    await until(() => dying.received.length === 1_000)
    addPod('good', good.port)
    dying.server.closeAllConnections()
    dying.server.close()
    const statuses = await Promise.all(answers)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1_000)
    pods.remove({ namespace: 'sluice', name: 'dying' })
    await until(() => pool.sample('tiny')?.active === 0)
  })

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
  it('in the middle of a stream ends the work at the model at once', async () => {
    let ended = false
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {}\n\n')
      response.on('close', () => (ended = true))
    })
    const { url, addPod, pool, requestLines } = await startGateway()
    addPod('one', upstream.port)
    const client = new AbortController()
    const response = await postJson(url + chat, { ...ask, stream: true }, { signal: client.signal })
    await response.body?.getReader().read()
    expect(pool.sample('tiny')?.active).toBe(1)
    client.abort()
    await until(() => ended && pool.sample('tiny')?.active === 0)
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

describe('a log that cannot be written', () => {
  it('costs the line and nothing else', async () => {
    const upstream = await startUpstream(answerOk)
    const complaints: string[] = []
    const write = (line: string) => {
      if (line.includes('"msg":"request"')) throw new Error('the disk is gone')
      complaints.push(line)
    }
    const log = createLogger({ destination: { write } })
    const { url, addPod, pool } = await startGateway({ gateway: { log } })
    addPod('one', upstream.port)
    for (let asked = 0; asked < 2; asked++) {
      const response = await postJson(url + chat, ask)
      expect([response.status, await response.text()]).toEqual([200, '{"object":"chat.completion"}'])
    }
    await until(() => complaints.length === 2)
    expect(complaints[0]).toContain('the disk is gone')
    expect(pool.sample('tiny')?.active).toBe(0)
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
