import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { type Identity, makeIdentity } from './made-identity.fixture.ts'
import { RelayStage, RawPeer, signalled } from './relay-stage.fixture.ts'
import { untilLeftUnread } from './socket/unread-bytes.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

let identity: Identity
let renewed: Identity

beforeAll(async () => {
  identity = await makeIdentity('CN=first')
  renewed = await makeIdentity('CN=second')
})

async function secureClient(port: number, servername?: string): Promise<{ peer: RawPeer; socket: TLSSocket }> {
  const ALPNProtocols = ['h2', 'http/1.1']
  const named = servername === undefined ? {} : { servername }
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols, ...named })
  const peer = new RawPeer(socket)
  await new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
  })
  return { peer, socket }
}

it('speaks HTTP/1.1 over TLS, tells the upstream so, and hears a client leave', async () => {
  const left = signalled()
  const upstream = await stage.httpUpstream((request, response) => response.end(request.headers['x-forwarded-proto']))
  const { port } = await stage.relay(
    async (exchange) => {
      exchange.signal.addEventListener('abort', () => left.resolve())
      if (exchange.head.path === '/wait') return left.promise
      await exchange.forward(upstream)
    },
    { tls: identity },
  )
  const { peer, socket } = await secureClient(port)
  expect(socket.alpnProtocol).toBe('http/1.1')
  peer.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await peer.until('\r\n\r\nhttps')
  peer.send('GET /wait HTTP/1.1\r\nHost: a\r\n\r\n')
  socket.end()
  await left.promise
  expect(socket.writableEnded).toBe(true)
})

it('hears an upstream again whose last answer was held until its client had taken it', async () => {
  // More than one read, so that the rest has been read when the first part is held.
  const body = 'x'.repeat(400_000)
  const upstream = await stage.httpUpstream((_request, response) => response.end(`${body}end`))
  const { port } = await stage.relay(
    async (exchange) => {
      await exchange.forward(upstream)
    },
    { tls: identity },
  )
  for (let round = 0; round < 4; round++) {
    const { peer, socket } = await secureClient(port)
    peer.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await peer.until('xend')).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    socket.destroy()
  }
})

it('uses a renewed certificate for new connections', async () => {
  let current = identity
  const { port, server } = await stage.relay((exchange) => exchange.respond({ status: 200 }), { tls: () => current })
  const first = await secureClient(port)
  expect(first.socket.getPeerCertificate().subject.CN).toBe('first')
  current = renewed
  server.reloadTls()
  const second = await secureClient(port)
  expect(second.socket.getPeerCertificate().subject.CN).toBe('second')
  first.socket.destroy()
  second.socket.destroy()
})

it('tells a client that speaks plain HTTP to use TLS, and closes one that speaks neither', async () => {
  const { port } = await stage.relay((exchange) => exchange.respond({ status: 200, body: 'served' }), { tls: identity })
  const told = await stage.ask(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(told).toMatch(/^HTTP\/1\.1 400 [^]*connection: close\r\n[^]*tls_required/i)
  expect(told).not.toContain('served')
  expect(await stage.ask(port, 'hello\r\n\r\n')).toBe('')
})

it('lets go of clients that never say anything, and of those that leave at once', async () => {
  const { port, server } = await stage.relay((exchange) => exchange.respond({ status: 200 }), {
    tls: identity,
    limits: { headTimeoutMs: 50 },
  })
  expect(await stage.ask(port, '')).toBe('')
  await server.close({ graceMs: 0 })
})

it('tells the handler which name the client asked for in its handshake', async () => {
  const { port } = await stage.relay(
    (exchange) => exchange.respond({ status: 200, body: `named ${exchange.client.serverName}` }),
    { tls: identity },
  )
  const named = await secureClient(port, 'shop.example')
  named.peer.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(await named.peer.until('named ')).toContain('named shop.example')
  const unnamed = await secureClient(port)
  unnamed.peer.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(await unnamed.peer.until('named ')).toContain('named undefined')
  named.socket.destroy()
  unnamed.socket.destroy()
})

it('passes bodies both ways whole, however long', async () => {
  const upstream = await stage.httpUpstream((request, response) => {
    response.setHeader('content-length', request.headers['content-length'] ?? '')
    request.pipe(response)
  })
  const { port } = await stage.relay(async (exchange) => void (await exchange.forward(upstream)), { tls: identity })
  const { socket } = await secureClient(port)
  const body = Buffer.alloc(5_000_000, 'abcdefghij')
  const pieces: Buffer[] = []
  let received = 0
  const all = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      pieces.push(chunk)
      received += chunk.length
      if (received > body.length) resolve()
    })
  })
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`)
  socket.write(body)
  await all
  while (!Buffer.concat(pieces).includes(body)) await once(socket, 'data')
  expect(Buffer.concat(pieces).subarray(-body.length).equals(body)).toBe(true)
  socket.destroy()
})

it('stops reading from a client when nobody takes what it sends', async () => {
  const total = 64_000_000
  const upstream = await stage.rawUpstream(({ socket }) => socket.pause())
  const { port } = await stage.relay(async (exchange) => void (await exchange.forward(upstream)), { tls: identity })
  const { peer, socket } = await secureClient(port)
  peer.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${total}\r\n\r\n`)
  peer.pour(total)
  await untilLeftUnread(socket, () => peer.poured)
  expect(peer.poured).toBeLessThan(total)
  socket.destroy()
})

it('takes a connection over to another protocol', async () => {
  const upstream = await stage.rawUpstream((peer) => {
    void peer.until('\r\n\r\n').then(() => {
      peer.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst')
      peer.socket.on('data', (chunk: Buffer) => peer.send(`heard ${chunk.toString()}`))
    })
  })
  const { port } = await stage.relay(async (exchange) => void (await exchange.forward(upstream)), { tls: identity })
  const { peer, socket } = await secureClient(port)
  peer.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await peer.until('first')
  peer.send('me')
  await peer.until('heard me')
  const before = peer.bytes
  peer.send('x'.repeat(400_000))
  await peer.until(() => peer.bytes >= before + 200_000)
  expect(peer.text).toContain('\r\n\r\nfirstheard me')
  socket.destroy()
})

it('answers requests that come together with the end of the handshake', async () => {
  const { port } = await stage.relay((exchange) => exchange.respond({ status: 200, body: exchange.head.path }), {
    tls: identity,
  })
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  const peer = new RawPeer(socket)
  // Sent with the last message of the handshake, before the server knows that it is over.
  socket.write('GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n')
  const answers = await peer.until((text) => text.includes('/first') && text.includes('/second'))
  expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  socket.destroy()
})

it('says its last with the end of TLS, so that a client knows that nothing is missing', async () => {
  const { port } = await stage.relay((exchange) => exchange.respond({ status: 200, body: 'all of it' }), {
    tls: identity,
  })
  const { peer, socket } = await secureClient(port)
  const ended = new Promise<void>((resolve) => socket.once('end', resolve))
  peer.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await ended
  expect(peer.text).toContain('all of it')
  expect(socket.errored).toBeNull()
})
