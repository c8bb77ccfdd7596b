import * as net from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { postJson, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const ask = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }
const headOf = (...fields: string[]) =>
  [`POST ${chat} HTTP/1.1`, 'host: x', 'content-type: application/json', ...fields, '', ''].join('\r\n')

/** A client that reads in time is never cut off before `lingerMs`, however busy the machine is. */
async function setUp(lingerMs = 200) {
  const upstream = await startUpstream((_request, response) => void response.end('{}'))
  const relayLimits = { headTimeoutMs: 300, bodyIdleMs: 300, lingerMs }
  const gateway = await startGateway({ gateway: { relayLimits, settings: { maxBodyBytes: 100_000 } } })
  gateway.addPod('one', upstream.port)
  return { ...gateway, upstream }
}

function connectRaw(port: number) {
  const socket = net.connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  const seen = { socket, text: '', closed: false }
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => (seen.text += text))
  socket.on('error', () => {})
  socket.on('close', () => (seen.closed = true))
  return seen
}

/** Sends the same again and again as fast as it is taken, until the connection is cut. */
function flood({ socket }: { socket: net.Socket }, piece: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

it('answers what is no HTTP with an error as OpenAI has it', async () => {
  const { port } = await setUp()
  const client = connectRaw(port)
  client.socket.write('GET / HTTP/1.1\r\nhost : x\r\n\r\n')
  await until(() => client.closed)
  const [head = '', body = ''] = client.text.split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 400 [^]*content-type: application\/json\r\n[^]*connection: close/)
  const error = { type: 'invalid_request_error', code: 'invalid_http', param: null, message: expect.any(String) }
  expect(JSON.parse(body)).toEqual({ error })
})

describe('clients that are slow on purpose', () => {
  it('keep nobody else waiting, and are sent away when the time for a head is over', async () => {
    const { port, url, upstream, pool } = await setUp(10_000)
    const slow = Array.from({ length: 300 }, () => connectRaw(port))
    for (const { socket } of slow) socket.write(`POST ${chat} HTTP/1.1\r\nhost: x\r\n`)
    const dripping = setInterval(() => slow.forEach(({ socket }) => socket.writable && socket.write('x-a: b\r\n')), 20)
    onTestFinished(() => clearInterval(dripping))
    expect((await postJson(url + chat, ask)).status).toBe(200)
    await until(() => slow.every(({ closed }) => closed))
    for (const { text } of slow) expect(text).toMatch(/^HTTP\/1\.1 408 [^]*"code":"request_timeout"/)
    expect(upstream.received).toHaveLength(1)
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })

  it('in the middle of a body get 408 and wake no model', async () => {
    const { port, upstream, pool, requestLines } = await setUp()
    const client = connectRaw(port)
    client.socket.write(`${headOf('content-length: 100')}{"model":"tiny"`)
    await until(() => client.closed)
    expect(client.text).toMatch(/^HTTP\/1\.1 408 [^]*"code":"request_timeout"/)
    expect(upstream.received).toHaveLength(0)
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
    await until(() => requestLines().length === 1)
  })
})

describe('requests that are too large', () => {
  it.each([
    ['headers without end', `POST ${chat} HTTP/1.1\r\nhost: x\r\n`, 'x-more: and more\r\n', 431],
    ['one header without end', `POST ${chat} HTTP/1.1\r\nhost: x\r\nx-long: `, 'x'.repeat(1_000), 431],
    ['a target without end', 'GET /', 'x'.repeat(1_000), 414],
    [
      'a body without end',
      `${headOf('transfer-encoding: chunked')}6\r\n{"a":"\r\n`,
      `3e8\r\n${'x'.repeat(1_000)}\r\n`,
      413,
    ],
  ])('are refused at the limit: %s', async (_case, start, piece, status) => {
    const { port, url, upstream } = await setUp(10_000)
    const client = connectRaw(port)
    client.socket.write(start)
    flood(client, piece)
    await until(() => client.closed)
    expect(client.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(upstream.received).toHaveLength(0)
    expect((await postJson(url + chat, ask)).status).toBe(200)
  })

  it('are cut off when their client neither reads nor stops', async () => {
    const { port, url } = await setUp()
    const client = connectRaw(port)
    client.socket.pause()
    client.socket.write(`POST ${chat} HTTP/1.1\r\nhost: x\r\n`)
    flood(client, 'x-more: and more\r\n')
    await until(() => client.closed)
    expect((await postJson(url + chat, ask)).status).toBe(200)
  })

  it('are refused by what they announce, before any of it arrives', async () => {
    const { port, upstream } = await setUp()
    const client = connectRaw(port)
    client.socket.write(headOf('content-length: 100001'))
    await until(() => client.text.endsWith('}'))
    expect(client.text).toMatch(/^HTTP\/1\.1 413 [^]*"code":"body_too_large"/)
    expect(upstream.received).toHaveLength(0)
  })
})

describe('requests that could be read in two ways', () => {
  it.each([
    ['a length and chunks', headOf('content-length: 3', 'transfer-encoding: chunked'), 400],
    ['two lengths', headOf('content-length: 3', 'content-length: 4'), 400],
    ['a length that is none', headOf('content-length: +3'), 400],
    ['a line end without its first half', `POST ${chat} HTTP/1.1\nhost: x\n\n`, 400],
    ['a folded line', headOf('x-a: b', ' c'), 400],
    ['a space before the colon', headOf('content-length : 3'), 400],
    ['two hosts', headOf('host: y'), 400],
    ['no host', `POST ${chat} HTTP/1.1\r\n\r\n`, 400],
    ['a chunk size that is none', `${headOf('transfer-encoding: chunked')}zz\r\n`, 400],
    ['a coding before the chunks', headOf('transfer-encoding: gzip, chunked'), 501],
  ])('reach no model: %s', async (_case, bytes, status) => {
    const { port, upstream, pool } = await setUp()
    const client = connectRaw(port)
    // What would be a second request to whoever reads the first one differently.
    client.socket.write(`${bytes}${headOf('content-length: 2')}{}`)
    await until(() => client.closed)
    expect(client.text.match(/^HTTP\/1\.1 \d+/gm)).toEqual([`HTTP/1.1 ${status}`])
    expect(upstream.received).toHaveLength(0)
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })
})
