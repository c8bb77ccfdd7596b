import { duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../../foundation/fake-clock.ts'
import type { ChannelProtocol } from '../channel-streams.ts'
import { TestWebSocket } from './websocket-client.fixture.ts'
import { opcodes } from './websocket-frames.ts'
import { webSocketSession } from './websocket-session.ts'

const everything = { stdin: true, stdout: true, stderr: true, tty: true }
const idleMs = 60_000

function connected(protocol: ChannelProtocol = 'v5.channel.k8s.io', wanted = everything) {
  const [server, socket] = duplexPair()
  const clock = new FakeClock()
  const session = webSocketSession(server, protocol, wanted, { clock, idleMs })
  return { session, client: new TestWebSocket(socket), clock, server, socket }
}

describe('a session over a WebSocket', () => {
  it('greets with an empty message and carries what the program says, then how it ended', async () => {
    const { session, client } = connected()
    session.streams.stdout?.write('out')
    session.streams.stderr?.write('err')
    await session.sendStatus({ status: 'Success' })
    session.close(1000, '')
    await expect.poll(() => client.closeCode).toBe(1000)
    expect(client.frames[0]).toEqual({ opcode: opcodes.binary, payload: Buffer.of(1) })
    expect([client.heard(1), client.heard(2), client.status]).toEqual(['out', 'err', { status: 'Success' }])
    client.close()
    await session.closed
    expect(session.left.aborted).toBe(true)
  })

  it('never lets the status overtake what the program said', async () => {
    const { session, client } = connected()
    for (let count = 0; count < 100; count += 1) session.streams.stdout?.write('x'.repeat(1000))
    await session.sendStatus({ status: 'Success' })
    await expect.poll(() => client.status).toBeDefined()
    expect(client.heard(1)).toHaveLength(100_000)
    const channels = client.frames.map(({ payload }) => payload[0])
    expect(channels.lastIndexOf(1)).toBeLessThan(channels.indexOf(3))
  })

  it('hands over what is typed, to the end that only v5 can tell', async () => {
    const { session, client } = connected()
    const typed = session.streams.stdin && text(session.streams.stdin)
    client.say(0, 'a')
    client.say(0, '')
    client.say(0, 'b')
    client.say(9, 'nowhere')
    client.say(1, 'against the stream'.repeat(50_000))
    client.send(opcodes.binary, Buffer.of(255, 0))
    expect(await typed).toBe('ab')
  })

  it('reads nothing more while the program takes nothing, and goes on when it does', async () => {
    const { session, client, server } = connected()
    const large = Buffer.alloc(1_000_000, 'y')
    client.say(0, large)
    client.say(0, large)
    client.send(opcodes.binary, Buffer.of(255, 0))
    await expect.poll(() => session.streams.stdin?.readableLength).toBe(large.length)
    expect(server.readableEnded).toBe(false)
    expect(session.streams.stdin && (await text(session.streams.stdin))).toHaveLength(2_000_000)
  })

  it('tells sizes of the terminal, and passes over what is none', async () => {
    const { session, client } = connected()
    client.say(4, '{"Width":80,')
    client.say(4, '"Height":24}{"Width":-1,"Height":1}nonsense}')
    client.say(4, '{"Width":100,"Height":30}\n')
    client.send(opcodes.binary, Buffer.of(255, 4))
    const sizes = []
    for await (const size of session.streams.terminal ?? []) sizes.push(size)
    expect(sizes).toEqual([
      { columns: 80, rows: 24 },
      { columns: 100, rows: 30 },
    ])
  })

  it('speaks base64 with clients that can only send text', async () => {
    const { session, client } = connected('v4.base64.channel.k8s.io')
    session.streams.stdout?.write('héllo')
    client.send(opcodes.text, `0${Buffer.from('typed').toString('base64')}`)
    await expect.poll(() => session.streams.stdin?.readableLength).toBe(5)
    const said = client.frames.filter(({ opcode }) => opcode === opcodes.text).map(({ payload }) => payload.toString())
    expect(said).toEqual(['1', `1${Buffer.from('héllo').toString('base64')}`])
    client.send(opcodes.text, '0***')
    await expect.poll(() => client.closeCode).toBe(1007)
  })

  it('answers pings, pings itself, and closes on a violation', async () => {
    const { session, client, clock } = connected()
    client.send(opcodes.ping, 'are you there?')
    await expect
      .poll(() => client.frames.find(({ opcode }) => opcode === opcodes.pong)?.payload.toString())
      .toBe('are you there?')
    await clock.advance(10_000)
    await expect.poll(() => client.frames.some(({ opcode }) => opcode === opcodes.ping)).toBe(true)
    client.send(opcodes.continuation, 'of nothing')
    await expect.poll(() => client.closeCode).toBe(1002)
    await expect.poll(() => session.left.aborted).toBe(true)
  })

  it('ends when nothing is said for long, whatever is pinged', async () => {
    const { session, client, clock } = connected()
    await clock.advance(idleMs - 1000)
    client.say(0, 'still here')
    await expect.poll(() => session.streams.stdin?.readableLength).toBe(10)
    await clock.advance(idleMs - 1000)
    client.send(opcodes.ping, '')
    expect(client.closeCode).toBeUndefined()
    await clock.advance(1000)
    await expect.poll(() => client.closeCode).toBe(1001)
    await clock.advance(2000)
    await session.closed
  })

  it('notices that the client has left, also while nothing is read', async () => {
    const { session, client } = connected()
    client.say(0, Buffer.alloc(1_000_000))
    await expect.poll(() => session.streams.stdin?.readableLength).toBe(1_000_000)
    session.destroy()
    await session.closed
    expect(session.left.aborted).toBe(true)
    expect(session.streams.stdin?.destroyed).toBe(true)
    expect(session.streams.stdout?.destroyed).toBe(true)
    client.leave()
  })
})
