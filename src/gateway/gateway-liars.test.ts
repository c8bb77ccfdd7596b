import * as net from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { untilLeftUnread } from '../relay/socket/unread-bytes.fixture.ts'
import { postJson, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const ask = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }
const head = (...fields: string[]) => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n')
const events = 'content-type: text/event-stream'

type Lie = (socket: net.Socket) => void

/** A model's server that answers every request by a lie; healthy when probed. */
async function startLiar(lie: Lie) {
  let requests = 0
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    let told = false
    socket.on('data', (data: Buffer) => {
      if (told) return
      told = true
      if (data.toString().startsWith('GET /health')) {
        socket.end(`${head('content-length: 2')}ok`)
      } else {
        requests++
        lie(socket)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { port: address.port, requests: () => requests }
}

async function setUp(lie: Lie) {
  const liar = await startLiar(lie)
  const relayLimits = { headTimeoutMs: 300, upstreamIdleBodyMs: 300, upstreamFirstByteMs: 300, upstreamConnectMs: 300 }
  const gateway = await startGateway({ gateway: { relayLimits, settings: { maxAttempts: 1 } } })
  gateway.addPod('liar', liar.port)
  return { ...gateway, liar }
}

function floodWith(text: string, start = 'HTTP/1.1 200 OK\r\n'): Lie {
  return (socket) => {
    socket.write(start)
    const more = () => {
      while (!socket.destroyed && socket.write(text));
    }
    socket.on('drain', more)
    more()
  }
}

describe('a model’s server that lies before its answer', () => {
  it.each<[string, Lie]>([
    ['closes at once', (socket) => void socket.destroy()],
    ['closes in its head', (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-')],
    ['speaks something else', (socket) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n\r\n')],
    ['sends bytes without meaning', (socket) => void socket.end(Buffer.alloc(100_000, 0xee))],
    ['has a status that does not exist', (socket) => void socket.end('HTTP/1.1 999 What\r\n\r\n')],
    ['says two lengths', (socket) => void socket.end(`${head('content-length: 2', 'content-length: 3')}ok`)],
    ['says a length and chunks', (socket) => void socket.end(head('content-length: 2', 'transfer-encoding: chunked'))],
    ['changes the protocol unasked', (socket) => void socket.end('HTTP/1.1 101 Yes\r\nupgrade: x\r\n\r\n')],
    ['sends headers without end', floodWith('x-more: and more\r\n')],
    ['sends one header without end', floodWith('x'.repeat(1_000))],
    ['sends interim answers without end', floodWith('HTTP/1.1 102 Wait\r\n\r\n', '')],
    ['says nothing', () => {}],
    ['begins its head and says no more', (socket) => void socket.write('HTTP/1.1 200 OK\r\n')],
  ])('is told as 502 when it %s', async (_case, lie) => {
    const { url, pool } = await setUp(lie)
    for (const body of [ask, { ...ask, stream: true }]) {
      const response = await postJson(url + chat, body)
      expect(response.status).toBe(502)
      expect(await response.json()).toMatchObject({ error: { code: 'upstream_failed', type: 'server_error' } })
    }
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })
})

describe('a model’s server that lies in its answer', () => {
  const chunk = 'a\r\ndata: {}\n\n\r\n'

  it.each<[string, Lie]>([
    ['closes between chunks', (socket) => void socket.end(`${head(events, 'transfer-encoding: chunked')}${chunk}`)],
    ['closes in a chunk', (socket) => void socket.end(`${head(events, 'transfer-encoding: chunked')}ff\r\ndata: {}`)],
    [
      'resets',
      (socket) =>
        void socket.write(`${head(events, 'transfer-encoding: chunked')}${chunk}`, () => socket.resetAndDestroy()),
    ],
    [
      'has a chunk size that is none',
      (socket) => void socket.end(`${head(events, 'transfer-encoding: chunked')}zz\r\n`),
    ],
    ['falls silent', (socket) => void socket.write(`${head(events, 'transfer-encoding: chunked')}${chunk}`)],
  ])('ends a stream by an error event when it %s', async (_case, lie) => {
    const { url, pool, requestLines } = await setUp(lie)
    const response = await postJson(url + chat, { ...ask, stream: true })
    expect(response.status).toBe(200)
    const text = await response.text()
    expect(text).toMatch(
      /\n\ndata: \{"error":\{"message":".*","type":"server_error","code":"upstream_broke_off".*\}\}\n\n$/,
    )
    await until(() => requestLines().length === 1 && pool.sample('tiny')?.active === 0)
    expect(requestLines()[0]).toMatchObject({ complete: false })
  })

  it.each<[string, Lie]>([
    ['is shorter than it said', (socket) => void socket.end(`${head('content-length: 100')}{"half":`)],
    ['falls silent in the middle', (socket) => void socket.write(`${head('content-length: 100')}{"half":`)],
  ])('cuts an answer that %s, so that nobody takes it for whole', async (_case, lie) => {
    const { url, pool } = await setUp(lie)
    const response = await postJson(url + chat, ask)
    await expect(response.text()).rejects.toThrow('terminated')
    await until(() => pool.sample('tiny')?.active === 0)
  })

  it('passes on no more than the length that was said', async () => {
    const { url } = await setUp((socket) => void socket.end(`${head('content-length: 2')}{}HTTP/1.1 200 OK\r\n\r\n`))
    expect(await (await postJson(url + chat, ask)).text()).toBe('{}')
  })
})

describe('a client that reads slowly', () => {
  it('holds the model’s server back instead of filling the memory', async () => {
    const total = 64 * 1024 * 1024
    const piece = Buffer.from(`data: ${'x'.repeat(65_528)}\n\n`)
    let sent = 0
    const answering = Promise.withResolvers<net.Socket>()
    const upstream = await startUpstream((_request, response) => {
      if (response.socket) answering.resolve(response.socket)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const more = () => {
        while (sent < total) {
          sent += piece.length
          if (response.write(piece)) continue
          response.once('drain', more)
          return
        }
        response.end()
      }
      more()
    })
    const { port, addPod, pool } = await startGateway()
    addPod('one', upstream.port)
    const body = JSON.stringify({ ...ask, stream: true })
    const socket = net.connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(
      `POST ${chat} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    await untilLeftUnread(await answering.promise, () => sent)
    expect(sent).toBeLessThan(total / 2)
    expect(pool.sample('tiny')?.active).toBe(1)
    let received = 0
    socket.on('data', (data: Buffer) => (received += data.length))
    await new Promise((resolve) => socket.on('end', resolve))
    expect(received).toBeGreaterThan(total)
  })
})
