import { connect, type TLSSocket } from 'node:tls'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { RelayStage, RawPeer, signalled } from './relay-stage.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

let identity: { key: string; cert: string }
let renewed: { key: string; cert: string }

beforeAll(async () => {
  identity = await makeIdentity('CN=first')
  renewed = await makeIdentity('CN=second')
})

async function makeIdentity(name: string): Promise<{ key: string; cert: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({ name, keys, signingAlgorithm: algorithm })
  const key = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return { key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`, cert: certificate.toString('pem') }
}

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
