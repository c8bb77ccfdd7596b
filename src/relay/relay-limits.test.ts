import { afterEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { type PromisedHandler, RelayStage, signalled } from './relay-stage.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const hello: PromisedHandler = (exchange) => exchange.respond({ status: 200, body: 'hello' })
const never: PromisedHandler = (exchange) =>
  new Promise((_resolve, reject) => exchange.signal.addEventListener('abort', () => reject(exchange.signal.reason)))

describe('connections of one address', () => {
  it('beyond its part are told why, and others get in when one is closed', async () => {
    const { port } = await stage.relay(hello, { limits: { maxConnectionsPerAddress: 2 } })
    const first = await stage.client(port)
    const second = await stage.client(port)
    for (const client of [first, second]) {
      client.send(get)
      await client.until('hello')
    }
    const third = await stage.client(port)
    expect(await third.closed()).toMatch(/^HTTP\/1\.1 429 [^]*retry-after: 5[^]*"code":"too_many_connections"/)
    first.socket.destroy()
    // Whoever is refused takes nothing of what there is for those who are not.
    let text = ''
    while (!text.includes('hello'))
      text = await stage.ask(port, get.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    second.clear()
    second.send(get)
    expect(await second.until('hello')).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('that many share are not counted together', async () => {
    const isShared = (address: string) => address === '127.0.0.1'
    const { port } = await stage.relay(hello, { limits: { maxConnectionsPerAddress: 1 }, isShared })
    await stage.client(port)
    const second = await stage.client(port)
    second.send(get)
    expect(await second.until('hello')).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('a server that has as many connections as it can', () => {
  it('closes one that rests for one that comes', async () => {
    const { port } = await stage.relay(hello, { limits: { maxConnections: 2 } })
    const resting = await stage.client(port)
    resting.send(get)
    await resting.until('hello')
    await stage.client(port)
    const third = await stage.client(port)
    third.send(get)
    expect(await third.until('hello')).toMatch(/^HTTP\/1\.1 200 /)
    await resting.closed()
  })

  it('says so where all are busy', async () => {
    const begun = signalled()
    const handler: PromisedHandler = (exchange) => {
      begun.resolve()
      return never(exchange)
    }
    const { port } = await stage.relay(handler, { limits: { maxConnections: 1 } })
    const busy = await stage.client(port)
    busy.send(get)
    await begun.promise
    const text = await (await stage.client(port)).closed()
    expect(text).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 5[^]*"code":"server_full"/)
  })
})

describe('a body that is only passed on', () => {
  it('may come as slowly as it likes, as long as it comes', async () => {
    const clock = new FakeClock()
    const received = { bytes: 0 }
    const upstream = await stage.httpUpstream((request, response) => {
      request.on('data', (piece: Buffer) => (received.bytes += piece.length))
      request.on('end', () => response.end('thanks'))
    })
    const { port } = await stage.relay(async (exchange) => void (await exchange.forward(upstream)), { clock })
    const client = await stage.client(port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n')
    for (let sent = 1; sent <= 40; sent++) {
      client.send('x')
      while (received.bytes !== sent) await clock.advance(0)
      await clock.advance(50_000)
    }
    expect(await client.until('thanks')).toMatch(/^HTTP\/1\.1 200 /)
  })
})
