import { afterEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { ForwardError, type ForwardOptions, type Upstream } from '../exchange.ts'
import { type PromisedHandler, type RawPeer, RelayStage, signalled } from '../relay-stage.fixture.ts'
import { answering, bodyOf, close, forwardTo, get, post } from './forwarding.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

describe('connections to the upstream', () => {
  it('that closed while they rested are replaced without anyone noticing', async () => {
    const ended: RawPeer[] = []
    const upstream = await stage.rawUpstream((peer, count) => {
      let seen = 0
      peer.socket.on('data', () => {
        const heads = peer.text.split('\r\n\r\n').length - 1
        // The first connection answers once and dies on the second request without a word.
        if (count === 1 && seen === 1) {
          ended.push(peer)
          peer.socket.destroy()
        }
        for (; seen < heads; seen++) peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    const { port } = await stage.relay(forwardTo(upstream))
    expect(await stage.ask(port, get('/1', close))).toContain('ok')
    expect(await stage.ask(port, get('/2', close))).toMatch(/^HTTP\/1\.1 200 /)
    expect(ended).toHaveLength(1)
  })

  it('are not used to send a POST twice unless the handler has read it', async () => {
    const dieOnSecond = (peer: RawPeer, count: number) => {
      let requests = 0
      peer.socket.on('data', () => {
        requests++
        if (count === 1 && requests === 2) peer.socket.destroy()
        else peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    }
    const blind = await stage.relay(forwardTo(await stage.rawUpstream(dieOnSecond)))
    const upstream = await stage.rawUpstream(dieOnSecond)
    const knowing = await stage.relay(async (exchange) => {
      await exchange.readBody(100)
      await exchange.forward(upstream)
    })
    for (const [server, second] of [
      [blind, 502],
      [knowing, 200],
    ] as const) {
      const client = await stage.client(server.port)
      client.send(post('a'))
      await client.until('ok')
      client.clear()
      client.send(post('b'))
      expect(await client.until('\r\n\r\n')).toMatch(new RegExp(`^HTTP/1\\.1 ${second} `))
    }
  })

  it.each([
    ['rested for as long as they may', '', 4_000],
    ['rested nearly as long as the upstream keeps them', 'Keep-Alive: timeout=3\r\n', 2_000],
  ])('are closed when they have %s', async (_name, field, restMs) => {
    const clock = new FakeClock()
    const connected = signalled<RawPeer>()
    const upstream = await stage.rawUpstream((peer) => {
      connected.resolve(peer)
      answering(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${field}\r\nok`)(peer)
    })
    const { port } = await stage.relay(forwardTo(upstream), { clock, limits: { upstreamIdleMs: 4_000 } })
    await stage.ask(port, get('/', close))
    const peer = await connected.promise
    await clock.advance(restMs - 1)
    expect(peer.socket.readableEnded).toBe(false)
    await clock.advance(1)
    await peer.closed()
    expect(peer.text.match(/GET/g)).toHaveLength(1)
  })

  it('that send more than was asked for are not used again', async () => {
    let connections = 0
    const upstream = await stage.rawUpstream((peer, count) => {
      connections = count
      answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil')(peer)
    })
    const { port } = await stage.relay(forwardTo(upstream))
    for (let round = 0; round < 3; round++) expect(bodyOf(await stage.ask(port, get('/', close)))).toBe('ok')
    expect(connections).toBe(3)
  })
})

describe('an upstream that fails', () => {
  const outcomeOf = async (
    upstream: Upstream,
    request = get('/', close),
    options: ForwardOptions = {},
    clock?: FakeClock,
  ) => {
    const seen = signalled<unknown>()
    const handler: PromisedHandler = async (exchange) => {
      try {
        seen.resolve(await exchange.forward(upstream, options))
      } catch (error) {
        seen.resolve(error)
        throw error
      }
    }
    const { port } = await stage.relay(handler, clock && { clock })
    const text = await stage.ask(port, request)
    return { text, outcome: await seen.promise }
  }

  it('to be there is a retryable connect error and a 502', async () => {
    const gone = await stage.rawUpstream(() => {})
    await stage.clear()
    const { text, outcome } = await outcomeOf(gone)
    expect(outcome).toMatchObject({ name: 'ForwardError', phase: 'connect', retryable: true })
    expect(text).toMatch(/^HTTP\/1\.1 502 [^]*bad_gateway/)
  })

  it.each([
    ['closes without a word', '', 'first-byte'],
    ['closes inside its head', 'HTTP/1.1 200 OK\r\nContent-', 'bad-response'],
    ['speaks something else', 'SSH-2.0-OpenSSH\r\n\r\n', 'bad-response'],
    ['sends two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 'bad-response'],
    [
      'sends a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      'bad-response',
    ],
    ['sends headers without end', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}`, 'bad-response'],
    ['sends interim responses without end', 'HTTP/1.1 103 E\r\n\r\n'.repeat(50), 'bad-response'],
    ['changes the protocol unasked', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'bad-response'],
    ['folds a header', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n', 'bad-response'],
  ])('because it %s is a retryable error and a 502', async (_name, bytes, phase) => {
    const upstream = await stage.rawUpstream(answering(bytes, true))
    const { text, outcome } = await outcomeOf(upstream)
    expect(outcome).toMatchObject({ name: 'ForwardError', phase, retryable: true })
    expect(text).toMatch(/HTTP\/1\.1 502 /)
  })

  it('by saying nothing is given up after the time to the first byte', async () => {
    const clock = new FakeClock()
    const asked = signalled()
    const upstream = await stage.rawUpstream((peer) => void peer.until('\r\n\r\n').then(() => asked.resolve()))
    const asking = outcomeOf(upstream, get('/', close), { firstByteTimeoutMs: 30_000 }, clock)
    await asked.promise
    await clock.advance(30_000)
    const { text, outcome } = await asking
    expect(outcome).toMatchObject({ phase: 'first-byte', retryable: true })
    expect(text).toMatch(/^HTTP\/1\.1 502 /)
  })

  it('can be replaced by another one, with the same body', async () => {
    const broken = await stage.rawUpstream((peer) => void peer.until('hello').then(() => peer.socket.destroy()))
    const good = await stage.httpUpstream((request, response) => request.pipe(response))
    const { port } = await stage.relay(async (exchange) => {
      await exchange.readBody(100)
      try {
        await exchange.forward(broken)
      } catch (error) {
        if (!(error instanceof ForwardError && error.retryable)) throw error
        await exchange.forward(good)
      }
    })
    const client = await stage.client(port)
    client.send(post('hello'))
    expect(await client.until('hello')).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('after taking part of a streamed body cannot be retried', async () => {
    const upstream = await stage.rawUpstream((peer) => {
      void peer.until('abc').then(() => peer.socket.destroy())
    })
    const { outcome } = await outcomeOf(upstream, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc')
    expect(outcome).toMatchObject({ phase: 'first-byte', retryable: false })
  })

  it.each([
    ['a fixed length', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
    ['broken chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n'],
  ])('inside a body of %s cuts the client, so that the loss is seen', async (_name, bytes) => {
    const upstream = await stage.rawUpstream(answering(bytes, true))
    const { text, outcome } = await outcomeOf(upstream, get('/'))
    expect(text).not.toMatch(/0\r\n\r\n$/)
    expect(outcome).toMatchObject({ status: 200, complete: false })
  })

  it('inside a stream lets the handler say the last words', async () => {
    const upstream = await stage.rawUpstream(
      answering('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n', true),
    )
    const { text, outcome } = await outcomeOf(upstream, get('/', close), {
      onBrokenOff: (head) => `sorry ${head.status}`,
    })
    expect(text).toMatch(/half\r\n9\r\nsorry 200\r\n0\r\n\r\n$/)
    expect(outcome).toMatchObject({ complete: false })
  })

  it('by answering early ends the upload, and the answer arrives', async () => {
    const upstream = await stage.rawUpstream((peer) => {
      void peer.until('\r\n\r\n').then(() => peer.send('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig'))
    })
    const { port } = await stage.relay(forwardTo(upstream))
    const client = await stage.client(port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\nabc')
    await client.until('big')
    client.send(Buffer.alloc(1_000_000))
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 413 /)
  })
})
