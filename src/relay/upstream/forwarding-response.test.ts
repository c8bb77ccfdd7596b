import { afterEach, describe, expect, it } from 'vitest'
import type { ForwardResult } from '../exchange.ts'
import { headerField } from '../http/header-list.ts'
import { type RawPeer, RelayStage, signalled } from '../relay-stage.fixture.ts'
import { untilLeftUnread } from '../socket/unread-bytes.fixture.ts'
import { answering, close, forwardTo, get, post } from './forwarding.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

describe('what comes back', () => {
  it.each([
    [
      'a fixed length',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Up: 1\r\n\r\nhello',
      /content-length: 5\r\n[^]*hello$/,
    ],
    [
      'chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Up: 1\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n',
      /5\r\nhello\r\n0\r\n\r\n$/,
    ],
    ['204', 'HTTP/1.1 204 No Content\r\nX-Up: 1\r\n\r\n', /^HTTP\/1\.1 204 No Content\r\n[^]*\r\n\r\n$/],
    [
      '304 with a length',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\nX-Up: 1\r\n\r\n',
      /content-length: 9\r\n(?:[^]*\r\n)?\r\n$/i,
    ],
    ['a status without a name', 'HTTP/1.1 299\r\nContent-Length: 0\r\nX-Up: 1\r\n\r\n', /^HTTP\/1\.1 299 \r\n/],
  ])('with %s is handed on, and the connection is used again', async (_name, bytes, expected) => {
    let connections = 0
    const answer = answering(bytes)
    const upstream = await stage.rawUpstream((peer, count) => {
      connections = count
      answer(peer)
    })
    const { port } = await stage.relay(forwardTo(upstream, { responseHeaders: [headerField('x-added', '1')] }))
    for (let round = 0; round < 3; round++) {
      const text = await stage.ask(port, get('/', close))
      expect(text).toMatch(expected)
      expect(text).toMatch(/X-Up: 1\r\n/)
      expect(text).toMatch(/x-added: 1\r\n/)
    }
    expect(connections).toBe(1)
  })

  it('until the close of the upstream becomes chunks', async () => {
    const upstream = await stage.rawUpstream(answering('HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nhello', true))
    const { port } = await stage.relay(forwardTo(upstream))
    const client = await stage.client(port)
    client.send(get())
    expect(await client.until('0\r\n\r\n')).toMatch(/transfer-encoding: chunked\r\n[^]*5\r\nhello\r\n/)
    expect(await stage.ask(port, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/connection: close\r\n\r\nhello$/)
  })

  it('for HEAD has the length of what GET would bring and no body', async () => {
    const upstream = await stage.httpUpstream((_request, response) => {
      response.setHeader('content-length', 1234)
      response.end()
    })
    const { port } = await stage.relay(forwardTo(upstream))
    const client = await stage.client(port)
    client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const text = await client.closed()
    expect(text.match(/content-length: 1234/gi)).toHaveLength(2)
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  })

  it('with interim responses: 103 is passed on, 100 is not, HTTP/1.0 sees neither', async () => {
    const bytes =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
    const upstream = await stage.rawUpstream(answering(bytes))
    const { port } = await stage.relay(forwardTo(upstream))
    expect(await stage.ask(port, get('/', close))).toMatch(
      /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 200 /,
    )
    expect(await stage.ask(port, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('arrives as it is sent, not when it is complete', async () => {
    const more = signalled()
    const upstream = await stage.httpUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      void more.promise.then(() => response.end('data: 2\n\n'))
    })
    const { port } = await stage.relay(forwardTo(upstream))
    const client = await stage.client(port)
    client.send(get())
    expect(await client.until('data: 1')).not.toContain('data: 2')
    more.resolve()
    await client.until('data: 2\n\n\r\n0\r\n\r\n')
  })

  it('waits for a client that reads slowly', async () => {
    const total = 64_000_000
    const answered = signalled<RawPeer>()
    const upstream = await stage.rawUpstream((peer) => {
      void peer.until('\r\n\r\n').then(() => {
        peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`)
        peer.pour(total)
        answered.resolve(peer)
      })
    })
    const { port } = await stage.relay(forwardTo(upstream))
    const client = await stage.client(port)
    client.socket.pause()
    client.send(get('/', close))
    const peer = await answered.promise
    await untilLeftUnread(peer.socket, () => peer.poured)
    expect(peer.poured).toBeLessThan(total)
    client.socket.resume()
    await client.closed()
    expect(client.bytes).toBeGreaterThan(total)
  })

  it('reports status, bytes and completeness', async () => {
    const results: ForwardResult[] = []
    const upstream = await stage.rawUpstream(answering('HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello'))
    const { port } = await stage.relay(forwardTo(upstream, {}, results))
    const client = await stage.client(port)
    client.send(post('abc'))
    await client.until('hello')
    expect(results).toEqual([
      { status: 201, requestBytes: 3, responseBytes: 5, firstByteAt: expect.any(Number), complete: true },
    ])
  })

  it('that the handler does not want is dropped before the client sees any of it', async () => {
    const upstream = await stage.rawUpstream(answering('HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy'))
    const other = await stage.rawUpstream(answering('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine'))
    const { port } = await stage.relay(async (exchange) => {
      const refuse = new Error('busy')
      try {
        await exchange.forward(upstream, {
          onResponseHead: (head) => {
            if (head.status === 503) throw refuse
          },
        })
      } catch (error) {
        if (error !== refuse) throw error
        await exchange.forward(other)
      }
    })
    expect(await stage.ask(port, get('/', close))).toMatch(/^HTTP\/1\.1 200 [^]*fine$/)
  })
})

describe('into a response already begun', () => {
  it('the body is streamed and the head only reported', async () => {
    const upstream = await stage.rawUpstream(
      answering('HTTP/1.1 200 OK\r\nX-Up: 1\r\nContent-Length: 9\r\n\r\ndata: 1\n\n'),
    )
    const statuses: number[] = []
    const { port } = await stage.relay(async (exchange) => {
      const into = exchange.startResponse(200, [['content-type', 'text/event-stream']])
      await into.write(': waking\n\n')
      await exchange.forward(upstream, { into, onResponseHead: (head) => void statuses.push(head.status) })
    })
    const client = await stage.client(port)
    client.send(get())
    const text = await client.until('\r\n0\r\n\r\n')
    expect(text).toMatch(/: waking\n\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n$/)
    expect(text).not.toContain('X-Up')
    expect(statuses).toEqual([200])
  })

  it('a failure before the first byte leaves the response to the handler', async () => {
    const upstream = await stage.rawUpstream((peer) => void peer.socket.destroy())
    const { port } = await stage.relay(async (exchange) => {
      const into = exchange.startResponse(200, [])
      await exchange.forward(upstream, { into }).catch(() => into.write('data: error\n\n'))
      await into.end()
    })
    expect(await stage.ask(port, get('/', close))).toMatch(/data: error\n\n\r\n0\r\n\r\n$/)
  })
})

describe('a client that leaves', () => {
  it.each(['before the first byte', 'in the middle of the response'])(
    '%s takes the upstream request with it',
    async (when) => {
      const asked = signalled<RawPeer>()
      const outcome = signalled<unknown>()
      const upstream = await stage.rawUpstream((peer) => {
        void peer.until('\r\n\r\n').then(() => {
          if (when !== 'before the first byte') peer.send('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf')
          asked.resolve(peer)
        })
      })
      const { port } = await stage.relay(async (exchange) => {
        await exchange.forward(upstream).then(outcome.resolve, outcome.resolve)
      })
      const client = await stage.client(port)
      client.send(get())
      const peer = await asked.promise
      if (when !== 'before the first byte') await client.until('half')
      client.socket.destroy()
      await peer.closed()
      expect(await outcome.promise).toMatchObject({ code: 'client_gone' })
    },
  )
})
