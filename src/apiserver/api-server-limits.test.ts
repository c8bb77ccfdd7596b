import { once } from 'node:events'
import { type Socket, connect as tcpConnect } from 'node:net'
import { Agent, request as httpsRequest } from 'node:https'
import { type TLSSocket, connect } from 'node:tls'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../foundation/clock.ts'
import { createLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { configMapKind } from '../resources/config-map.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { StatusError } from '../resources/status-error.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ApiServer, type ApiServerLimits } from './api-server.ts'
import { knownTokens } from './access/identity/authentication.ts'
import { type TestCertificates, createTestCertificates } from './test-support/certificates.fixture.ts'
import { ClusterApi } from './cluster-api.ts'

let certificates: TestCertificates
let server: ApiServer | undefined
let api: ClusterApi
let port: number
let logLines: string[]
let agent: Agent
const patiently = { timeout: 10_000 }
const sockets: TLSSocket[] = []
const halfOpen: Socket[] = []
const maps = '/vks/one/api/v1/namespaces/default/configmaps'

beforeAll(async () => {
  certificates = await createTestCertificates('CN=nobody')
})

afterEach(async () => {
  for (const socket of [...sockets.splice(0), ...halfOpen.splice(0)]) socket.destroy()
  agent.destroy()
  await server?.close(0)
})

async function start(limits: Partial<ApiServerLimits> = {}): Promise<void> {
  logLines = []
  const log = createLogger({ destination: { write: (line) => void logLines.push(line) } })
  api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock: systemClock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
  const tls = { ...certificates.server, ca: certificates.ca }
  server = new ApiServer({ tls, log, clock: systemClock, metrics: new Metrics(), limits })
  server.mount({
    id: 'one',
    api,
    podAccess: { logs: () => (async function* () {})() },
    authenticate: knownTokens([{ token: 't', user: { name: 'admin', groups: ['system:masters'] } }]),
  })
  port = (await server.listen('127.0.0.1', 0)).port
  agent = new Agent({ ca: certificates.ca, keepAlive: true })
}

async function open(): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: certificates.ca })
  socket.on('error', () => {})
  sockets.push(socket)
  await once(socket, 'secureConnect')
  return socket
}

/** Everything the server sends until it closes the connection. */
async function rest(socket: TLSSocket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  if (!socket.destroyed) await once(socket, 'close')
  return Buffer.concat(chunks).toString('utf8')
}

const head = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', 'Authorization: Bearer t', ...headers, '', ''].join('\r\n')

async function get(path: string): Promise<number> {
  const call = httpsRequest({ host: '127.0.0.1', port, path, agent, headers: { authorization: 'Bearer t' } })
  call.end()
  const [response] = (await once(call, 'response')) as [{ statusCode: number; resume(): void }]
  response.resume()
  return response.statusCode
}

describe('a client that is slow', () => {
  it('to send its head is told so and left', async () => {
    await start({ headersMs: 500, requestMs: 1_000 })
    const socket = await open()
    socket.write('GET /vks/one/api HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 408 /)
    expect(await get(maps)).toBe(200)
  })

  it('to send its body is told so and left', async () => {
    await start({ headersMs: 500, requestMs: 1_000 })
    const socket = await open()
    socket.write(head('POST', maps, 'Content-Type: application/json', 'Content-Length: 1000') + '{"metadata"')
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 408 /)
    expect(await get(maps)).toBe(200)
    expect(logLines.join('')).not.toContain('failed')
  })

  it('to shake hands is left', async () => {
    await start({ handshakeMs: 500 })
    const socket = tcpConnect(port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'close')
    await expect.poll(() => get(maps).catch(() => 0), patiently).toBe(200)
  })

  it('to take what it watches is left, and its place is free again', async () => {
    await start({ drainMs: 50, watchesPerUser: 1 })
    const socket = await open()
    socket.pause()
    socket.write(head('GET', `${maps}?watch=1`))
    await expect.poll(() => get(`${maps}?watch=1&timeoutSeconds=0`), patiently).toBe(429)
    const data = { large: 'x'.repeat(100_000) }
    for (let count = 0; count < 100; count++) {
      await api.create(configMapKind, 'default', { metadata: { name: `m${count}` }, data })
    }
    await expect.poll(() => get(`${maps}?watch=1&timeoutSeconds=0`), patiently).toBe(200)
  })
})

describe('a flood', () => {
  it('of requests is asked to come again', async () => {
    await start({ requestsInFlight: 2 })
    const unfinished = head('POST', maps, 'Content-Type: application/json', 'Content-Length: 1000')
    for (const socket of [await open(), await open()]) socket.write(unfinished)
    await expect.poll(() => get(maps), patiently).toBe(429)
    for (const socket of sockets.splice(0)) socket.destroy()
    await expect.poll(() => get(maps), patiently).toBe(200)
  })

  it("of handshakes that are never finished is in nobody's way", async () => {
    await start({ handshakes: 4 })
    let kept = 0
    for (let count = 0; count < 40; count += 1) {
      const socket = tcpConnect(port, '127.0.0.1')
      socket.on('error', () => {})
      halfOpen.push(socket)
      await once(socket, 'connect')
      kept += 1
      socket.once('close', () => (kept -= 1))
    }
    await expect.poll(() => kept, patiently).toBe(4)
    expect(await get(maps)).toBe(200)
    // A connection counts only until its handshake is done: one that is used stays, however many come after it.
    const used = await open()
    for (let count = 0; count < 8; count += 1) halfOpen.push(tcpConnect(port, '127.0.0.1').on('error', () => {}))
    await expect.poll(() => halfOpen.filter(({ destroyed }) => !destroyed).length, patiently).toBe(4)
    used.write(head('GET', maps, 'Connection: close'))
    expect(await rest(used)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('of connections does not get in', async () => {
    await start({ connections: 5 })
    const held = await Promise.all(Array.from({ length: 5 }, () => open()))
    const refused = Array.from({ length: 20 }, async () => {
      const socket = tcpConnect(port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'close')
    })
    await Promise.all(refused)
    for (const socket of held) socket.destroy()
    await expect.poll(() => get(maps).catch(() => 0), patiently).toBe(200)
  })

  it('of nonsense is refused line by line', async () => {
    await start()
    const nonsense = ['\0\0\0\0', 'GET', 'GET / HTTP/9.9\r\n\r\n', 'POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n']
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const socket = await open()
        socket.end(nonsense[index % nonsense.length] ?? '')
        return rest(socket)
      }),
    )
    for (const answer of answers) expect(answer).toMatch(/^(HTTP\/1\.1 (400|505) |$)/)
    expect(await get(maps)).toBe(200)
  })

  it('of watches does not make more copies of an event than one', async () => {
    await start()
    const watchers = await Promise.all(Array.from({ length: 100 }, () => open()))
    const seen = watchers.map(async (socket) => {
      socket.write(head('GET', `${maps}?watch=1`))
      for await (const chunk of socket) if (String(chunk).includes('"the-one"')) return true
      return false
    })
    await expect.poll(() => serverWatches(), patiently).toBe(100)
    await api.create(configMapKind, 'default', { metadata: { name: 'the-one' } })
    expect(await Promise.all(seen)).toEqual(watchers.map(() => true))
  })

  async function serverWatches(): Promise<number> {
    const call = httpsRequest({
      host: '127.0.0.1',
      port,
      path: '/metrics',
      agent,
      headers: { authorization: 'Bearer t' },
    })
    call.end()
    const [response] = (await once(call, 'response')) as [AsyncIterable<Buffer>]
    let text = ''
    for await (const chunk of response) text += String(chunk)
    return Number(/^sluice_apiserver_watches (\d+)$/m.exec(text)?.[1])
  }
})

describe('a body', () => {
  const post = async (body: string, ...headers: string[]) => {
    const socket = await open()
    const length = headers.some((header) => header.startsWith('Transfer')) ? [] : [`Content-Length: ${body.length}`]
    socket.write(head('POST', maps, 'Content-Type: application/json', 'Connection: close', ...length, ...headers))
    socket.write(body)
    return rest(socket)
  }

  it('without end is refused when it is too large', async () => {
    await start({ bodyBytes: 10_000 })
    const chunk = `1000\r\n${' '.repeat(0x1000)}\r\n`
    expect(await post(chunk.repeat(20), 'Transfer-Encoding: chunked')).toMatch(/^HTTP\/1\.1 413 /)
    expect(await get(maps)).toBe(200)
  })

  it('of a million brackets is refused', async () => {
    await start()
    for (const body of ['['.repeat(1_000_000), `${'['.repeat(500_000)}${']'.repeat(500_000)}`]) {
      expect(await post(body)).toMatch(/^HTTP\/1\.1 400 /)
    }
    expect(await get(maps)).toBe(200)
  })

  it('cannot reach the prototype of anything', async () => {
    await start()
    const body =
      '{"metadata":{"name":"p","__proto__":{"polluted":"yes"}},"__proto__":{"polluted":"yes"},"data":{"__proto__":"x"}}'
    expect(await post(body)).toMatch(/^HTTP\/1\.1 (201|400|422) /)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('that comes after a refusal is not taken for a request', async () => {
    await start()
    const smuggled = head('DELETE', `${maps}/victim`)
    await api.create(configMapKind, 'default', { metadata: { name: 'victim' } })
    const socket = await open()
    socket.write(head('POST', '/vks/nowhere/api', `Content-Length: ${smuggled.length}`) + smuggled)
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 404 /)
    expect(await get(`${maps}/victim`)).toBe(200)
  })
})

/** Cannot be encoded, like an error that is too large. */
class UntoldError extends StatusError {
  override toStatus(): Record<string, unknown> {
    throw new RangeError('Invalid string length')
  }
}

describe('an error that cannot be written down', () => {
  async function startFailing(): Promise<void> {
    await start()
    server?.mount({
      id: 'failing',
      api,
      podAccess: { logs: () => (async function* () {})() },
      authenticate: () => {
        throw new UntoldError('Invalid', 'too much to say', { retryAfterSeconds: 5 })
      },
    })
  }

  it('is answered as an internal error, and the server goes on', async () => {
    await startFailing()
    const socket = await open()
    socket.write(head('GET', '/vks/failing/api/v1/pods'))
    const answer = await rest(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 500 /)
    expect(answer).toContain('"reason":"InternalError"')
    expect(answer).not.toContain('Retry-After')
    expect(logLines.join('')).toContain('Invalid string length')
    expect(await get(maps)).toBe(200)
  })

  it('ends a connection that was to be upgraded, too', async () => {
    await startFailing()
    const socket = await open()
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
    socket.write(head('GET', '/vks/failing/api/v1/namespaces/default/pods/p/exec', ...upgrade, 'Sec-WebSocket-Key: x'))
    expect(await rest(socket)).toMatch(/^(HTTP\/1\.1 (400|500) |$)/)
    expect(await get(maps)).toBe(200)
  })
})
