import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { type Socket as DatagramSocket, createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../isolation/detect-isolation.ts'

const script = fileURLToPath(new URL('forward-port.pl', import.meta.url))
const mayMakeNetworks = findProgram('perl') && findProgram('ip') && spawnSync('unshare', ['-Urn', 'true']).status === 0
const hasIpv6 = existsSync('/proc/sys/net/ipv6')
const machine = { 4: '10.9.0.1', 6: 'fd09::1' } as const
const pod = { 4: '10.9.0.5', 6: 'fd09::5' } as const

/**
 * What listens in the Pod: one echoes, one sends much, one tells how much of that it could send, one breaks off. One
 * answers datagrams that ask for it with the port that they came from.
 */
const much = 100_000_000
const servers = `
const { createServer } = require('node:net')
let sent = 0
function* chunks() { while (sent < ${much}) { sent += 100_000; yield Buffer.alloc(100_000) } }
createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).pipe(socket)).listen(7000)
createServer((socket) => require('node:stream').Readable.from(chunks()).pipe(socket.on('error', () => {}))).listen(7001)
createServer((socket) => socket.end(String(sent))).listen(7002)
createServer((socket) => socket.on('error', () => {}).on('data', () => socket.resetAndDestroy())).listen(7003)
let waited = 0
for (const [kind, address] of [['udp4', '${pod[4]}'], ...(${hasIpv6} ? [['udp6', '${pod[6]}']] : [])]) {
  const datagrams = require('node:dgram').createSocket(kind)
  datagrams.on('message', (said, { address, port }) => {
    if (String(said) === 'answer') datagrams.send(String(port), port, address)
  })
  waited += 1
  datagrams.bind(7000, address, () => { if (--waited === 0) console.log('listens') })
}
`

async function freePort(): Promise<number> {
  const other = createServer().listen(0)
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  other.close()
  await once(other, 'close')
  return port
}

/** Asks until there is an answer, since datagrams may be lost; then the port the Pod saw, and who answered. */
async function answerTo(socket: DatagramSocket, host: string, port: number): Promise<[string, string]> {
  const answered = once(socket, 'message', { signal: AbortSignal.timeout(30_000) })
  const again = setInterval(() => socket.send('answer', port, host), 100)
  socket.send('answer', port, host)
  const [said, { address }] = await answered.finally(() => clearInterval(again))
  return [String(said), address]
}

describe.runIf(mayMakeNetworks)('a port that is led into a network of a user', () => {
  let inside: ChildProcess
  const forwarders: ChildProcess[] = []
  const ends: Array<() => void> = []

  beforeAll(async () => {
    const steps = [
      'ip link set lo up',
      ...[machine[4], pod[4]].map((address) => `ip addr add ${address}/32 dev lo`),
      ...(hasIpv6 ? [machine[6], pod[6]] : []).map((address) => `ip addr add ${address}/128 dev lo nodad`),
      'exec "$@"',
    ]
    const words = ['-Urn', 'sh', '-c', steps.join(' && '), 'sh', process.execPath, '-e', servers]
    inside = spawn('unshare', words, { stdio: ['ignore', 'pipe', 'inherit'] })
    if (inside.stdout) await once(inside.stdout, 'data')
  })

  afterEach(() => {
    for (const end of ends.splice(0)) end()
    for (const forwarder of forwarders.splice(0)) forwarder.kill('SIGKILL')
  })
  afterAll(() => inside.kill('SIGKILL'))

  /** Resolves with what it says first. */
  async function forward(
    port: number,
    podPort: number,
    { protocol = 'tcp', host = '0.0.0.0' }: { readonly protocol?: 'tcp' | 'udp'; readonly host?: string } = {},
  ): Promise<{ said: string; child: ChildProcess }> {
    const family = host.includes(':') ? 6 : 4
    const about = [protocol, host, port, machine[family], pod[family], podPort].map(String)
    const words = ['-w', script, process.arch, '/nowhere', String(inside.pid), ...about]
    const child = spawn('perl', words, { stdio: ['pipe', 'pipe', 'inherit'] })
    forwarders.push(child)
    return { said: (await text(child.stdout)).trim(), child }
  }

  async function open(podPort: number, host?: string): Promise<{ port: number; child: ChildProcess }> {
    const port = await freePort()
    const { said, child } = await forward(port, podPort, host === undefined ? {} : { host })
    expect(said).toBe('open')
    return { port, child }
  }

  function client(port: number, host = '127.0.0.1'): Socket {
    const socket = connect({ port, host, allowHalfOpen: true })
    // Some are broken off at the end of a test.
    socket.on('error', () => {})
    ends.push(() => socket.destroy())
    return socket
  }

  function sender(host: string): DatagramSocket {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    ends.push(() => socket.close())
    return socket
  }

  it('carries everything both ways to its last byte, though only one side has said all it has to say', async () => {
    const { port } = await open(7000)
    const large = Buffer.alloc(8_000_000, 'words and words\n')
    const socket = client(port)
    socket.end(large)
    expect((await buffer(socket)).equals(large)).toBe(true)
  })

  it.runIf(hasIpv6)('is reached by IPv6, beside the same one of IPv4', async () => {
    const { port } = await open(7000)
    const six = await forward(port, 7000, { host: '::' })
    expect(six.said).toBe('open')
    const socket = client(port, '::1')
    socket.end('words')
    expect(await text(socket)).toBe('words')
  })

  it('takes no more from one side than the other takes', async () => {
    const [{ port }, control] = [await open(7001), await open(7002)]
    const socket = client(port)
    await once(socket, 'connect')
    let [sent, sameTimes] = [-1, 0]
    for (let asked = 0; asked < 10_000 && sameTimes < 20; asked += 1) {
      const now = Number(await text(client(control.port)))
      sameTimes = now === sent && now > 0 ? sameTimes + 1 : 0
      sent = now
    }
    // Buffers of the kernel hold some; the relay holds next to nothing.
    expect(sent).toBeLessThan(much / 2)
    expect(await buffer(socket)).toHaveLength(much)
  })

  it.each([
    ['breaks off', 7003],
    ['does not listen', 7999],
  ])('tells its client by a reset that the Pod %s', async (_, podPort) => {
    const { port } = await open(podPort)
    const socket = client(port)
    socket.write('words')
    socket.resume()
    const [error] = await once(socket, 'error').catch((thrown: unknown) => [thrown])
    expect(error).toMatchObject({ code: 'ECONNRESET' })
  })

  it('says why it cannot be had', async () => {
    const other = createServer().listen(0, '0.0.0.0')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    expect((await forward(port, 7000)).said).toBe('EADDRINUSE')
    other.close()
    const datagrams = sender('127.0.0.1').bind(0)
    await once(datagrams, 'listening')
    expect((await forward(datagrams.address().port, 7000, { protocol: 'udp' })).said).toBe('EADDRINUSE')
    expect((await forward(port, 7000, { host: '203.0.113.77' })).said).toBe('EADDRNOTAVAIL')
  })

  it('is free at once when it is no longer wanted, and who is connected may finish', async () => {
    const { port, child } = await open(7000)
    const socket = client(port)
    socket.write('first ')
    await once(socket, 'data')
    child.stdin?.end()
    const refused = async () => {
      const other = client(port)
      const code = await once(other, 'connect').then(
        () => '',
        (error: unknown) => (error instanceof Error && 'code' in error ? error.code : ''),
      )
      other.destroy()
      return code === 'ECONNREFUSED'
    }
    for (let asked = 0; asked < 10_000; asked += 1) if (await refused()) break
    expect(await refused()).toBe(true)
    const ended = once(child, 'exit')
    socket.end('last')
    expect(await text(socket)).toBe('last')
    expect(await ended).toEqual([0, null])
  })

  it('serves a bounded number of clients at once, and the others after them', async () => {
    const { port } = await open(7000)
    const echoed = async (socket: Socket) => {
      socket.write('word')
      await once(socket, 'data')
    }
    const first = Array.from({ length: 1024 }, () => client(port))
    await Promise.all(first.map(echoed))
    let served = 0
    const late = Array.from({ length: 3 }, () => echoed(client(port)).then(() => (served += 1)))
    await echoed(first[0] ?? client(port))
    expect(served).toBe(0)
    for (const socket of first.slice(0, 3)) socket.destroy()
    await Promise.all(late)
    expect(served).toBe(3)
  })

  it.each(hasIpv6 ? ['127.0.0.1', '127.0.0.2', '::1'] : ['127.0.0.1', '127.0.0.2'])(
    'answers datagrams from the address that was asked: %s',
    async (host) => {
      const port = await freePort()
      const wild = host.includes(':') ? '::' : '0.0.0.0'
      expect((await forward(port, 7000, { protocol: 'udp', host: wild })).said).toBe('open')
      const [one, other] = [await answerTo(sender(host), host, port), await answerTo(sender(host), host, port)]
      expect([one[1], other[1]]).toEqual([host, host])
      expect(one[0]).not.toBe(other[0])
    },
  )

  it('knows a bounded number of senders, and keeps those who are answered', async () => {
    const port = await freePort()
    expect((await forward(port, 7000, { protocol: 'udp' })).said).toBe('open')
    const known = sender('127.0.0.1')
    const [before] = await answerTo(known, '127.0.0.1', port)
    for (let turn = 0; turn < 11; turn += 1) {
      const many = Array.from({ length: 100 }, () => sender('127.0.0.1'))
      await Promise.all(many.map((each) => new Promise((resolve) => each.send('nothing', port, '127.0.0.1', resolve))))
      // Once this one is answered, those before it have been taken.
      await answerTo(sender('127.0.0.1'), '127.0.0.1', port)
    }
    expect((await answerTo(known, '127.0.0.1', port))[0]).toBe(before)
  })
})
