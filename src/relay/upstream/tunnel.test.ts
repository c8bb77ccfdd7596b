import { createHash } from 'node:crypto'
import { afterEach, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import type { ForwardResult } from '../exchange.ts'
import { type RawPeer, RelayStage, signalled } from '../relay-stage.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

const upgradeRequest = (protocol = 'websocket') =>
  `GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Key: k\r\n\r\n`
const switching =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s\r\n\r\n'

it('carries raw bytes both ways after 101, those sent too early included', async () => {
  const results: ForwardResult[] = []
  const finished = signalled()
  const connected = signalled<RawPeer>()
  const upstream = await stage.rawUpstream((peer) => {
    void peer.until('\r\n\r\n').then((head) => {
      expect(head).toContain('connection: Upgrade\r\nupgrade: websocket\r\n')
      expect(head).toContain('Sec-WebSocket-Key: k\r\n')
      peer.send(`${switching}first frame`)
      connected.resolve(peer)
    })
  })
  const { port } = await stage.relay(async (exchange) => {
    results.push(await exchange.forward(upstream))
    finished.resolve()
  })
  const client = await stage.client(port)
  client.send(`${upgradeRequest()}early`)
  const text = await client.until('first frame')
  expect(text).toContain('Sec-WebSocket-Accept: s\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nfirst frame')
  const peer = await connected.promise
  await peer.until('early')
  client.send('\u0000\u0001binary\r\n\r\n')
  await peer.until('\u0000\u0001binary')
  peer.send('pong')
  await client.until('pong')
  client.socket.end()
  await peer.closed()
  peer.socket.end()
  await client.closed()
  await finished.promise
  expect(results).toMatchObject([{ status: 101, complete: true }])
})

it('moves much data both ways and loses nothing', async () => {
  const upstream = await stage.rawUpstream((peer) => {
    void peer.until('\r\n\r\n').then(() => {
      peer.send(switching)
      peer.socket.pipe(peer.socket)
    })
  })
  const { port } = await stage.relay(async (exchange) => {
    await exchange.forward(upstream)
  })
  const client = await stage.client(port)
  client.send(upgradeRequest())
  await client.until('\r\n\r\n')
  client.clear()
  const data = Buffer.alloc(8_000_000, 'some bytes that repeat ')
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  client.socket.end(data)
  expect(hash(Buffer.from(await client.closed(), 'latin1'))).toBe(hash(data))
})

it('is not laid when the upstream refuses: its answer is an ordinary one', async () => {
  const upstream = await stage.httpUpstream((_request, response) => response.writeHead(403).end('no'))
  const { port } = await stage.relay(async (exchange) => {
    await exchange.forward(upstream)
  })
  const client = await stage.client(port)
  client.send(upgradeRequest())
  expect(await client.until('no')).toMatch(/^HTTP\/1\.1 403 /)
})

it('is never offered for a protocol whose requests would go unchecked', async () => {
  const heads: string[] = []
  const upstream = await stage.rawUpstream((peer) => {
    void peer.until('\r\n\r\n').then((head) => {
      heads.push(head)
      peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  const { port } = await stage.relay(async (exchange) => {
    await exchange.forward(upstream)
  })
  const client = await stage.client(port)
  client.send(upgradeRequest('h2c'))
  await client.until('ok')
  expect(heads.join('')).not.toMatch(/upgrade/i)
})

it('ends with the upstream', async () => {
  const connected = signalled<RawPeer>()
  const upstream = await stage.rawUpstream((peer) => {
    void peer.until('\r\n\r\n').then(() => {
      peer.send(switching)
      connected.resolve(peer)
    })
  })
  const { port } = await stage.relay(async (exchange) => {
    await exchange.forward(upstream)
  })
  const client = await stage.client(port)
  client.send(upgradeRequest())
  await client.until('\r\n\r\n')
  const peer = await connected.promise
  peer.socket.resetAndDestroy()
  expect(await client.closed()).toContain('101')
})

it('is ended by the server when it stops', async () => {
  const upstream = await stage.rawUpstream((peer) => {
    void peer.until('\r\n\r\n').then(() => peer.send(switching))
  })
  const { server, port } = await stage.relay(async (exchange) => {
    await exchange.forward(upstream)
  })
  const client = await stage.client(port)
  client.send(upgradeRequest())
  await client.until('\r\n\r\n')
  await server.close({ graceMs: 10 })
  await client.closed()
  expect(client.socket.readableEnded || client.socket.destroyed).toBe(true)
})

it('is cut when both sides have been silent for too long, and not before', async () => {
  const clock = new FakeClock()
  const connected = signalled<RawPeer>()
  const upstream = await stage.rawUpstream((peer) => {
    void peer.until('\r\n\r\n').then(() => {
      peer.send(switching)
      connected.resolve(peer)
    })
  })
  const { port } = await stage.relay(async (exchange) => void (await exchange.forward(upstream)), {
    clock,
    limits: { tunnelIdleMs: 60_000 },
  })
  const client = await stage.client(port)
  client.send(upgradeRequest())
  await client.until('\r\n\r\n')
  const peer = await connected.promise
  for (let minute = 0; minute < 5; minute++) {
    await clock.advance(50_000)
    peer.send(`beat ${minute}`)
    await client.until(`beat ${minute}`)
  }
  await clock.advance(120_001)
  await client.closed()
  expect(await peer.closed()).toContain('upgrade')
})
