import { once } from 'node:events'
import { type Server, createServer, connect as tcpConnect } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TLSSocket, connect } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { coreKinds } from '../resources/all-kinds.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { podKind } from '../resources/pod.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ApiServer } from './api-server.ts'
import type { AuditEvent } from './audit/audit-event.ts'
import { knownTokens } from './access/identity/authentication.ts'
import { createTestCertificates } from './test-support/certificates.fixture.ts'
import { ClusterApi } from './cluster-api.ts'
import type { PodAccess } from './pods/pod-access.ts'
import { opcodes } from './streams/websocket/websocket-frames.ts'
import { TestWebSocket } from './streams/websocket/websocket-client.fixture.ts'

const certificates = createTestCertificates('CN=nobody')
const sockets: TLSSocket[] = []
let server: ApiServer
let port = 0
let echo: Server
let echoPort = 0
let execSignal: AbortSignal | undefined
let logSignal: AbortSignal | undefined
let audited: AuditEvent[] = []

/** A Pod whose programs are scripted here. */
const access: PodAccess = {
  logs: (_pod, { follow }, signal) =>
    (async function* () {
      logSignal = signal
      yield Buffer.from('one\n')
      yield Buffer.from('two\n')
      if (follow) await once(signal, 'abort')
    })(),
  async exec(_pod, { container, words }, { stdin, stdout }, signal) {
    execSignal = signal
    const [program] = words
    if (program === 'wait') await once(signal, 'abort')
    if (program === 'upper' && stdin) stdout?.write((await text(stdin)).toUpperCase())
    if (program === 'where') stdout?.write(container)
    return { exitCode: program === 'fail' ? 3 : 0 }
  },
  async connect(_pod, wanted, signal): Promise<Duplex> {
    const socket = tcpConnect({ port: wanted === 80 ? echoPort : 1, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect', { signal })
    return socket
  },
}

beforeEach(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  const address = echo.address()
  echoPort = typeof address === 'object' && address ? address.port : 0
  const { ca, server: own } = await certificates
  const api = new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: systemClock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
  const containers = [{ name: 'main', image: 'x' }]
  await api.create(podKind, 'default', { metadata: { name: 'web' }, spec: { nodeName: 'here', containers } })
  const tls = { ...own, ca }
  const limits = { streamsPerUser: 2 }
  audited = []
  const audit = (event: AuditEvent) => void audited.push(event)
  server = new ApiServer({ tls, log: silentLogger, clock: systemClock, metrics: new Metrics(), limits, audit })
  const authenticate = knownTokens([{ token: 't', user: { name: 'admin', groups: ['system:masters'] } }])
  server.mount({ id: 'one', api, podAccess: access, authenticate })
  port = (await server.listen('127.0.0.1', 0)).port
})

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await server.close(0)
  echo.close()
})

/** Sends the head of a request and returns the head of the answer. */
async function ask(path: string, headers: readonly string[]): Promise<{ socket: TLSSocket; head: string }> {
  const socket = connect({ port, host: '127.0.0.1', ca: (await certificates).ca })
  socket.on('error', () => {})
  sockets.push(socket)
  await once(socket, 'secureConnect')
  const lines = [`GET /vks/one/api/v1/namespaces/default/pods/web/${path} HTTP/1.1`, 'Host: x', ...headers]
  socket.write(`${lines.join('\r\n')}\r\nAuthorization: Bearer t\r\n\r\n`)
  let bytes = Buffer.alloc(0)
  while (!bytes.includes('\r\n\r\n')) {
    const [chunk]: unknown[] = await once(socket, 'data')
    if (Buffer.isBuffer(chunk)) bytes = Buffer.concat([bytes, chunk])
  }
  socket.pause()
  const end = bytes.indexOf('\r\n\r\n') + 4
  socket.unshift(bytes.subarray(end))
  return { socket, head: bytes.subarray(0, end).toString() }
}

const key = 'dGhlIHNhbXBsZSBub25jZQ=='
const upgrade = (protocols: string) => [
  'Connection: keep-alive, Upgrade',
  'Upgrade: WebSocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${key}`,
  `Sec-WebSocket-Protocol: ${protocols}`,
]

async function open(path: string, protocols = 'v5.channel.k8s.io, v4.channel.k8s.io'): Promise<TestWebSocket> {
  const { socket, head } = await ask(path, upgrade(protocols))
  expect(head).toMatch(/^HTTP\/1\.1 101 /)
  return new TestWebSocket(socket)
}

async function refusal(path: string, headers: readonly string[]): Promise<string> {
  const { socket, head } = await ask(path, headers)
  return head.slice(9, 12) + (await text(socket))
}

describe('a connection that is upgraded', () => {
  it('answers the handshake of the WebSocket protocol, with the newest protocol both know', async () => {
    const { head } = await ask(
      'exec?command=where&stdout=1',
      upgrade('channel.k8s.io, v4.channel.k8s.io, v5.channel.k8s.io'),
    )
    expect(head).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n')
    expect(head).toContain('Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n')
  })

  it.each([
    [
      'no common protocol',
      'exec?command=a&stdout=1',
      upgrade('v1.other'),
      '400',
      'this server accepts [v5.channel.k8s.io',
    ],
    [
      'another version',
      'exec?command=a&stdout=1',
      upgrade('v5.channel.k8s.io').with(2, 'Sec-WebSocket-Version: 8'),
      '400',
      '13',
    ],
    [
      'a bad key',
      'exec?command=a&stdout=1',
      upgrade('v5.channel.k8s.io').with(3, 'Sec-WebSocket-Key: short'),
      '400',
      'Key',
    ],
    ['no stream', 'exec?command=a', upgrade('v5.channel.k8s.io'), '400', 'at least 1 of stdin, stdout, stderr'],
    ['no command', 'exec?stdout=1', upgrade('v5.channel.k8s.io'), '400', 'at least one command'],
    ['nothing to attach with', 'attach?stdout=1', upgrade('v5.channel.k8s.io'), '501', 'pods/attach is not offered'],
    ['no ports', 'portforward', upgrade('v4.channel.k8s.io'), '400', 'ports'],
    [
      'an unknown protocol of SPDY',
      'portforward',
      ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: x'],
      '403',
      'server accepts [portforward.k8s.io]',
    ],
    [
      'a protocol that is none of ours',
      'exec?command=a&stdout=1',
      ['Connection: Upgrade', 'Upgrade: h2c'],
      '400',
      'Upgrade request required',
    ],
  ])('is refused in HTTP with %s', async (_, path, headers, code, why) => {
    const answer = await refusal(path, [...headers, ...(code === '400' ? ['Connection: close'] : [])])
    expect(answer.slice(0, 3)).toBe(code)
    expect(answer).toContain(why)
  })

  it('is in the audit log when it is opened, and again when it ends', async () => {
    const client = await open('exec?command=wait&stdout=true')
    const [opened] = audited
    expect(opened).toMatchObject({
      stage: 'ResponseStarted',
      verb: 'get',
      objectRef: { resource: 'pods', name: 'web', subresource: 'exec' },
      responseStatus: { code: 101 },
    })
    client.leave()
    await expect.poll(() => audited.length).toBe(2)
    expect(audited[1]).toMatchObject({
      auditID: opened?.auditID,
      stage: 'ResponseComplete',
      responseStatus: { code: 101 },
    })
  })

  it('runs a command and tells its exit code', async () => {
    const client = await open('exec?command=fail&stdout=true&stderr=false')
    await expect.poll(() => client.closeCode).toBe(1000)
    client.close()
    await client.closed
    expect(client.status).toMatchObject({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    })
  })

  it('tells a client of the first protocols what a command wrote, and nothing but that when it went well', async () => {
    const client = await open('exec?command=where&stdout=1', 'channel.k8s.io')
    await expect.poll(() => client.closeCode).toBe(1000)
    expect([client.heard(1), client.heard(3)]).toEqual(['main', ''])
    const failed = await open('exec?command=fail&stdout=1', 'channel.k8s.io')
    await expect.poll(() => failed.closeCode).toBe(1000)
    expect(failed.heard(3)).toContain('exit code 3')
  })

  it.each([
    ['binary.k8s.io', opcodes.binary, 'one\ntwo\n'],
    ['base64.binary.k8s.io', opcodes.text, 'b25lCg==dHdvCg=='],
  ])('brings a log as messages of %s', async (protocol, opcode, expected) => {
    const client = await open('log', protocol)
    await expect.poll(() => client.closeCode).toBe(1000)
    const messages = client.frames.filter((frame) => frame.opcode === opcode).map(({ payload }) => payload)
    expect(Buffer.concat(messages).toString()).toBe(expected)
  })

  it('ends a log that is followed when the client leaves', async () => {
    const client = await open('log?follow=true', 'binary.k8s.io')
    await expect.poll(() => client.frames.length).toBe(2)
    client.leave()
    await expect.poll(() => logSignal?.aborted).toBe(true)
  })

  it('ends the command when the client leaves', async () => {
    const client = await open('exec?command=wait&stdout=1')
    await expect.poll(() => client.frames.length).toBe(1)
    expect(execSignal?.aborted).toBe(false)
    client.leave()
    await expect.poll(() => execSignal?.aborted).toBe(true)
  })

  it('is not given to a user who has enough of them', async () => {
    await open('exec?command=wait&stdout=1')
    const second = await open('exec?command=wait&stdout=1')
    const answer = await refusal('exec?command=wait&stdout=1', upgrade('v5.channel.k8s.io'))
    expect(answer).toContain('already has 2 streams open')
    expect(answer.slice(0, 3)).toBe('429')
    second.leave()
    await expect
      .poll(() =>
        ask('exec?command=where&stdout=1', upgrade('v5.channel.k8s.io')).then(({ head }) => head.slice(9, 12)),
      )
      .toBe('101')
  })

  it('is closed with a word about it when the server stops, whatever the client does', async () => {
    const client = await open('exec?command=wait&stdout=1')
    const forwarding = await open('portforward?ports=80', 'SPDY/3.1+portforward.k8s.io')
    await expect.poll(() => client.frames.length).toBe(1)
    const stopped = server.close(1_000)
    await stopped
    await expect.poll(() => [client.closeCode, forwarding.closeCode]).toEqual([1001, 1001])
    expect(client.status).toMatchObject({ message: 'Internal error occurred: the server is stopping' })
  })
})

describe('a client of SPDY/3.1 that asks for streams and opens none', () => {
  it('does not keep the server from stopping', async () => {
    const headers = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: v4.channel.k8s.io']
    const { socket, head } = await ask('exec?command=wait&stdout=1', headers)
    expect(head).toContain('HTTP/1.1 101 ')
    expect(head).toContain('X-Stream-Protocol-Version: v4.channel.k8s.io\r\n')
    socket.resume()
    await server.close(50)
    await expect.poll(() => socket.destroyed).toBe(true)
  })
})

describe('ports forwarded over channels', () => {
  it('begin with their number, carry data both ways and tell what goes wrong', async () => {
    const client = await open('portforward?ports=80&ports=81', 'v5.channel.k8s.io,v4.channel.k8s.io')
    client.say(0, 'hello')
    await expect.poll(() => client.heard(0)).toBe('P\0hello')
    await expect.poll(() => client.heard(3)).toContain('Q\0error forwarding port 81 to pod web, uid ')
    expect(client.heard(1)).toBe('P\0')
    expect(client.closeCode).toBeUndefined()
    client.send(opcodes.close, Buffer.alloc(0))
    await expect.poll(() => client.closeCode).toBe(1000)
  })
})
