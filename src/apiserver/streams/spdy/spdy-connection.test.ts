import { duplexPair } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../../foundation/fake-clock.ts'
import type { FedStream } from '../fed-stream.ts'
import { SpdyConnection } from './spdy-connection.ts'
import { type SpdyFrame, SpdyFrameReader, encodeSpdyFrame } from './spdy-frames.ts'
import { HeaderWriter } from './spdy-headers.ts'
import { spdySession } from './spdy-session.ts'

class TestPeer {
  readonly frames: SpdyFrame[] = []
  readonly transport
  readonly #socket
  readonly #writer = new HeaderWriter()

  constructor() {
    const [server, client] = duplexPair()
    this.transport = server
    this.#socket = client
    const reader = new SpdyFrameReader()
    client.on('data', (chunk: Buffer) => this.frames.push(...reader.read(chunk)))
  }

  send(...frames: readonly SpdyFrame[]): void {
    for (const frame of frames) this.#socket.write(encodeSpdyFrame(frame))
  }

  open(stream: number, headers: Record<string, string> = {}, flags = { last: false, oneWay: false }): void {
    this.send({ type: 'open', stream, ...flags, headers: this.#writer.write(new Map(Object.entries(headers))) })
  }

  data(stream: number, text: string, last = false): void {
    this.send({ type: 'data', stream, last, data: Buffer.from(text) })
  }

  said(stream: number): string {
    return Buffer.concat(
      this.frames.flatMap((frame) => (frame.type === 'data' && frame.stream === stream ? [frame.data] : [])),
    ).toString()
  }

  has(expected: Partial<SpdyFrame>): boolean {
    return this.frames.some((frame) =>
      Object.entries(expected).every(([key, value]) =>
        Object.entries(frame).some(([name, own]) => name === key && own === value),
      ),
    )
  }
}

function connected() {
  const peer = new TestPeer()
  const streams: FedStream[] = []
  const accepted: string[] = []
  const clock = new FakeClock()
  const connection = new SpdyConnection(peer.transport, {
    clock,
    touch: () => {},
    accept: (stream, headers) => {
      if (headers.get('name') === 'unwanted') return false
      streams.push(stream)
      accepted.push(headers.get('name') ?? '')
      return true
    },
  })
  const closed = connection.receive()
  return { peer, streams, accepted, connection, closed, clock }
}

describe('a connection of SPDY/3.1', () => {
  it('carries streams both ways, each to its own end', async () => {
    const { peer, streams, accepted } = connected()
    peer.open(1, { name: 'a' })
    peer.open(3, { name: 'b' })
    peer.data(1, 'one')
    peer.data(3, 'two', true)
    await expect.poll(() => streams[1]?.readableLength).toBe(3)
    expect(accepted).toEqual(['a', 'b'])
    expect(String(streams[0]?.read())).toBe('one')
    expect(String(streams[1]?.read())).toBe('two')
    // The client has finished on this stream, the server has not.
    streams[1]?.end('answer')
    await expect.poll(() => peer.has({ type: 'data', stream: 3, last: true })).toBe(true)
    expect(peer.said(3)).toBe('answer')
    expect(peer.has({ type: 'reply', stream: 1 })).toBe(true)
    expect(peer.has({ type: 'reset' })).toBe(false)
  })

  it('resets what it refuses, and ends what is reset', async () => {
    const { peer, streams } = connected()
    peer.open(1, { name: 'unwanted' })
    peer.open(3, {}, { last: false, oneWay: true })
    peer.data(99, 'to nobody')
    peer.open(5, { name: 'a' })
    await expect.poll(() => streams.length).toBe(1)
    expect(peer.has({ type: 'reset', stream: 1 })).toBe(true)
    expect(peer.has({ type: 'reset', stream: 3, status: 3 })).toBe(true)
    expect(peer.has({ type: 'reset', stream: 99, status: 2 })).toBe(true)
    peer.send({ type: 'reset', stream: 5, status: 5 })
    await expect.poll(() => streams[0]?.destroyed).toBe(true)
    expect(peer.has({ type: 'reset', stream: 5 })).toBe(false)
  })

  it('answers pings, and passes over what only concerns flow and settings', async () => {
    const { peer, clock } = connected()
    peer.send({ type: 'settings' }, { type: 'windowUpdate', stream: 0, delta: 5 }, { type: 'ping', id: 7 })
    await expect.poll(() => peer.has({ type: 'ping', id: 7 })).toBe(true)
    await clock.advance(10_000)
    await expect.poll(() => peer.has({ type: 'ping', id: 2 })).toBe(true)
  })

  it('goes away when it is not spoken to properly', async () => {
    const { peer, connection, streams } = connected()
    peer.open(3, { name: 'a' })
    await expect.poll(() => streams.length).toBe(1)
    peer.open(1, { name: 'too late' })
    await expect.poll(() => peer.has({ type: 'goAway', lastStream: 3, status: 1 })).toBe(true)
    expect(connection.left.aborted).toBe(true)
    expect(streams[0]?.destroyed).toBe(true)
  })
})

describe('a session over SPDY/3.1', () => {
  const wanted = { stdin: true, stdout: true, stderr: false, tty: false }

  it('begins when all streams are there and ends with the status', async () => {
    const peer = new TestPeer()
    const opening = spdySession(peer.transport, wanted, { clock: new FakeClock(), idleMs: 1e6 })
    for (const [index, streamtype] of ['error', 'stdin', 'stdout'].entries()) peer.open(index * 2 + 1, { streamtype })
    const session = await opening
    session?.streams.stdout?.write('out')
    await session?.sendStatus({ status: 'Success' })
    await expect.poll(() => peer.has({ type: 'data', stream: 1, last: true })).toBe(true)
    expect(peer.said(5)).toBe('out')
    expect(peer.said(1)).toBe('{"status":"Success"}')
  })

  it('is given up when streams are missing for too long', async () => {
    const peer = new TestPeer()
    const clock = new FakeClock()
    const opening = spdySession(peer.transport, wanted, { clock, idleMs: 1e6 })
    peer.open(1, { streamtype: 'error' })
    await expect.poll(() => peer.has({ type: 'reply', stream: 1 })).toBe(true)
    await clock.advance(30_000)
    expect(await opening).toBeUndefined()
  })
})
