import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { ForwardError, type ForwardOptions, type ForwardResult, type Upstream } from '../exchange.ts'
import { headerField } from '../http/header-list.ts'
import { type PromisedHandler, type RawPeer, RelayStage, signalled } from '../relay-stage.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

const forwardTo =
  (upstream: Upstream, options: ForwardOptions = {}, results: ForwardResult[] = []): PromisedHandler =>
  async (exchange) => {
    results.push(await exchange.forward(upstream, options))
  }

const get = (path = '/', fields = '') => `GET ${path} HTTP/1.1\r\nHost: front.example\r\n${fields}\r\n`
const post = (body: string) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const close = 'Connection: close\r\n'
const bodyOf = (response: string) => response.slice(response.indexOf('\r\n\r\n') + 4)

/** Answers every request on the connection with the same bytes. */
const answering =
  (bytes: string, thenEnd = false) =>
  (peer: RawPeer) => {
    let seen = 0
    peer.socket.on('data', () => {
      const heads = peer.text.split('\r\n\r\n').length - 1
      for (; seen < heads; seen++) peer.send(bytes)
      if (thenEnd) peer.socket.end()
    })
  }

/** Whether the other side has stopped taking what a peer pours. */
async function isStalled(peer: RawPeer): Promise<boolean> {
  const before = peer.poured
  await new Promise((resolve) => setTimeout(resolve, 60))
  return before > 0 && peer.poured === before
}

describe('what goes up', () => {
  it('is the request without its hop-by-hop fields and with true x-forwarded fields', async () => {
    let sent = ''
    const spy = await stage.rawUpstream((peer) => {
      void peer.until('\r\n\r\n').then((text) => {
        sent = text
        peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    const { port } = await stage.relay(
      forwardTo(spy, {
        target: '/other?q',
        requestHeaders: { set: [headerField('x-set', 'yes')], remove: ['x-drop'] },
      }),
    )
    const fields = [
      'Connection: close, X-Secret',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'TE: trailers',
      'X-Secret: 1',
      'X-Drop: 1',
      'X-Set: no',
      'X-Stays: 1',
      'X-Forwarded-For: 6.6.6.6',
      'X-Forwarded-Host: evil',
      'X-Forwarded-Proto: https',
      'Forwarded: for=6.6.6.6',
      'X-Real-IP: 6.6.6.6',
    ].join('\r\n')
    await stage.ask(port, get('/path', `${fields}\r\n`))
    expect(sent.split('\r\n')).toEqual([
      'GET /other?q HTTP/1.1',
      'Host: front.example',
      'X-Stays: 1',
      'x-forwarded-for: 127.0.0.1',
      'x-forwarded-proto: http',
      'x-forwarded-host: front.example',
      'x-set: yes',
      '',
      '',
    ])
  })

  it('is the body byte for byte: fixed, chunked, read before or streamed', async () => {
    const upstream = await stage.httpUpstream((request, response) => {
      const hash = createHash('sha256')
      request.on('data', (chunk: Buffer) => hash.update(chunk))
      request.on('end', () => response.end(hash.digest('hex')))
    })
    const body = Buffer.alloc(3_000_000, 'The quick brown fox. ')
    const expected = createHash('sha256').update(body).digest('hex')
    for (const read of [true, false]) {
      const { port } = await stage.relay(async (exchange) => {
        if (read) await exchange.readBody(10_000_000)
        await exchange.forward(upstream)
      })
      const url = `http://127.0.0.1:${port}/`
      expect(await (await fetch(url, { method: 'POST', body })).text()).toBe(expected)
      const streamed = await fetch(url, {
        method: 'POST',
        body: new Blob([body]).stream(),
        duplex: 'half',
      })
      expect(await streamed.text()).toBe(expected)
    }
  })

  it('carries trailers both ways, without those that would change the message', async () => {
    const begun = signalled()
    const upstream = await stage.httpUpstream((request, response) => {
      begun.resolve()
      request.resume()
      request.on('end', () => {
        response.writeHead(200, { Trailer: 'x-sum' })
        response.write(JSON.stringify(request.trailers))
        response.addTrailers({ 'x-sum': '42', 'set-cookie': 'a=b' })
        response.end()
      })
    })
    const { port } = await stage.relay(forwardTo(upstream))
    for (const parts of [1, 2]) {
      const client = await stage.client(port)
      const begin = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n'
      const rest = '0\r\nX-Up: 1\r\nContent-Length: 9\r\n\r\n'
      client.send(parts === 1 ? begin + rest : begin)
      if (parts === 2) {
        await begun.promise
        client.send(rest)
      }
      const text = await client.until('x-sum: 42\r\n\r\n')
      expect(text).toContain('{"x-up":"1"}')
      expect(text).not.toContain('set-cookie')
    }
  })

  it('is not read further than the upstream takes it', async () => {
    const taken = signalled<RawPeer>()
    const upstream = await stage.rawUpstream((peer) => {
      peer.socket.pause()
      taken.resolve(peer)
    })
    const { port } = await stage.relay(forwardTo(upstream))
    const client = await stage.client(port)
    const total = 64_000_000
    client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${total}\r\n\r\n`)
    client.pour(total)
    const peer = await taken.promise
    await expect.poll(() => isStalled(client)).toBe(true)
    expect(client.poured).toBeLessThan(total)
    peer.socket.destroy()
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 502 /)
  })
})

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
    await expect.poll(() => isStalled(peer)).toBe(true)
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
  const outcomeOf = async (upstream: Upstream, request = get('/', close), options: ForwardOptions = {}) => {
    const seen = signalled<unknown>()
    const { port } = await stage.relay(async (exchange) => {
      try {
        seen.resolve(await exchange.forward(upstream, options))
      } catch (error) {
        seen.resolve(error)
        throw error
      }
    })
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
    const upstream = await stage.rawUpstream(() => {})
    const { text, outcome } = await outcomeOf(upstream, get('/', close), { firstByteTimeoutMs: 30 })
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
      const leftAt = performance.now()
      await peer.closed()
      expect(performance.now() - leftAt).toBeLessThan(100)
      expect(await outcome.promise).toMatchObject({ code: 'client_gone' })
    },
  )
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
