import * as net from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { RelayServer } from '../relay/relay-server.ts'
import { TurnClock } from '../relay/socket/turn-clock.ts'
import { errorAnswer } from './answers/openai-errors.ts'
import { postJson, startGateway, startUpstream, until, type SetUpOptions } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const ask = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }
const headOf = (...fields: string[]) =>
  [`POST ${chat} HTTP/1.1`, 'host: x', 'content-type: application/json', ...fields, '', ''].join('\r\n')

/** A gateway whose connections, too, live by the test's time. */
async function setUp(options: SetUpOptions = {}) {
  const upstream = await startUpstream((_request, response) => void response.end('{}'))
  const { gateway, addPod, metrics, requestLines } = await startGateway(options)
  addPod('one', upstream.port)
  const clock = new FakeClock()
  const server = new RelayServer({
    handler: gateway.handler,
    errorAnswer,
    log: silentLogger,
    clock: new TurnClock(clock),
  })
  const { port } = await server.listen('127.0.0.1', 0)
  onTestFinished(() => server.close({ graceMs: 0 }))
  const inFlight = async () =>
    Number(/^sluice_gateway_in_flight_requests (\d+)/m.exec(await metrics.text())?.[1] ?? Number.NaN)
  const untilInFlight = async (count: number) => {
    for (const giveUpAt = Date.now() + 15_000; Date.now() < giveUpAt;) {
      if ((await inFlight()) === count) return
      await new Promise((resolve) => setImmediate(resolve))
    }
    throw new Error(`there are ${await inFlight()} requests, not ${count}`)
  }
  return { clock, port, url: `http://127.0.0.1:${port}`, upstream, untilInFlight, requestLines }
}

function connectRaw(port: number) {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  onTestFinished(() => void socket.destroy())
  const seen = { socket, text: '', closed: false, send: (text: string) => socket.writable && socket.write(text) }
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => (seen.text += text))
  socket.on('error', () => {})
  socket.on('close', () => (seen.closed = true))
  return seen
}

describe('clients that announce large bodies and send a byte now and then', () => {
  it.each([32, 2_000])('keep nobody from being served, and are ended in time: %i of them', async (count) => {
    const { clock, port, url, untilInFlight } = await setUp()
    const slow = Array.from({ length: count }, () => connectRaw(port))
    for (const client of slow) client.send(`${headOf('content-length: 33554432')}{`)
    await untilInFlight(count)
    expect((await postJson(url + chat, ask)).status).toBe(200)
    for (let second = 0; second < 18; second += 6) {
      await clock.advance(6_000)
      for (const client of slow) client.send(' ')
    }
    await untilInFlight(count)
    expect((await postJson(url + chat, ask)).status).toBe(200)
    await clock.advance(3_000)
    await untilInFlight(0)
    await until(() => slow.every(({ text }) => text.endsWith('}')))
    for (const { text } of slow) expect(text).toMatch(/^HTTP\/1\.1 408 [^]*connection: close[^]*"code":"body_too_slow"/)
    while (!slow.every(({ closed }) => closed)) await clock.advance(1_000)
  })

  it('may take all the time that a link of 1 Mbit/s needs for 25 MB', async () => {
    const { clock, port, upstream } = await setUp()
    const client = connectRaw(port)
    const bytes = 25_000_000
    const start = '{"model":"tiny","messages":"'
    const end = '"}'
    client.send(headOf(`content-length: ${bytes}`) + start)
    const piece = 'x'.repeat(500_000)
    let left = bytes - start.length - end.length
    for (; left > 0; left -= piece.length) {
      client.send(left < piece.length ? piece.slice(0, left) : piece)
      await until(() => client.socket.writableLength === 0)
      await clock.advance(4_000)
    }
    client.send(end)
    await until(() => client.text.endsWith('{}'))
    expect(upstream.received[0]?.body.length).toBe(bytes)
  })

  it('are told when there is too much from their address', async () => {
    const settings = { maxBodyBytes: 100_000, maxHeldBytes: 1_000_000, addressShare: 0.1 }
    const { port, url, untilInFlight, requestLines } = await setUp({ gateway: { settings } })
    const first = connectRaw(port)
    first.send(`${headOf('content-length: 90000')}{"model":"${'x'.repeat(70_000)}`)
    await untilInFlight(1)
    const second = connectRaw(port)
    second.send(`${headOf('content-length: 90000')}{"model":"${'x'.repeat(70_000)}`)
    await until(() => second.closed)
    expect(second.text).toMatch(
      /^HTTP\/1\.1 429 [^]*retry-after: \d+[^]*connection: close[^]*"code":"address_overloaded"/,
    )
    expect(requestLines()).toMatchObject([{ status: 429 }])
    expect((await postJson(url + chat, ask)).status).toBe(200)
    first.socket.destroy()
    await untilInFlight(0)
    const third = connectRaw(port)
    third.send(`${headOf('content-length: 90000')}{"model":"${'x'.repeat(70_000)}`)
    await untilInFlight(1)
  })

  it('are counted by who they are behind a proxy that is trusted', async () => {
    const { TrustedProxies } = await import('./access/trusted-proxies.ts')
    const settings = { maxBodyBytes: 100_000, maxHeldBytes: 1_000_000, addressShare: 0.1 }
    const trustedProxies = TrustedProxies.parse('127.0.0.1', '--trusted-proxies')
    const { port, untilInFlight } = await setUp({ gateway: { settings, trustedProxies } })
    const clients = ['203.0.113.1', '203.0.113.2'].map((address) => {
      const client = connectRaw(port)
      client.send(`${headOf('content-length: 90000', `x-forwarded-for: ${address}`)}{"model":"${'x'.repeat(70_000)}`)
      return client
    })
    await untilInFlight(2)
    expect(clients.map(({ text }) => text)).toEqual(['', ''])
  })
})

describe('the type of a body', () => {
  it.each([
    ['text/plain', 415],
    ['text/plain;charset=UTF-8', 415],
    ['application/x-www-form-urlencoded', 415],
    ['', 415],
    ['application/jsonx', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/json', 200],
    ['Application/JSON; charset=utf-8', 200],
    ['application/vnd.api+json', 200],
  ])('%j gets %i, before any of it is read', async (type, status) => {
    const { url, upstream } = await setUp()
    const body = Buffer.from(JSON.stringify(ask))
    const response = await fetch(url + chat, {
      method: 'POST',
      body,
      headers: type === '' ? {} : { 'content-type': type },
    })
    const answer: unknown = await response.json()
    expect(response.status).toBe(status)
    expect(upstream.received).toHaveLength(status === 200 ? 1 : 0)
    const error = { code: 'unsupported_media_type', message: expect.stringContaining('application/json') }
    expect(answer).toMatchObject(status === 200 ? {} : { error })
  })
})
