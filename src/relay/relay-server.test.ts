import { afterEach, describe, expect, it } from 'vitest'
import { SluiceError } from '../foundation/errors.ts'
import { type PromisedHandler, RelayStage, signalled } from './relay-stage.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

const echo: PromisedHandler = async (exchange) => {
  const body = await exchange.readBody(1_000_000)
  await exchange.respond({ status: 200, body: `${exchange.head.method} ${exchange.head.target} [${body.toString()}]` })
}

const get = (path = '/', fields = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`
const bodyOf = (response: string) => response.slice(response.indexOf('\r\n\r\n') + 4)

describe('a request', () => {
  it('is answered with a length, a date and a kept connection', async () => {
    const { port } = await stage.relay(echo)
    const client = await stage.client(port)
    client.send(get('/x?y'))
    const text = await client.until('GET /x?y []')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(text).toMatch(/\r\ncontent-length: 11\r\n/)
    expect(text).toMatch(/\r\ndate: .* GMT\r\n/)
    expect(text).not.toMatch(/connection:/)
  })

  it('may arrive one byte at a time', async () => {
    const { port } = await stage.relay(echo)
    const client = await stage.client(port)
    const chunked =
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;e\r\nde\r\n0\r\nT: x\r\n\r\n'
    for (const byte of chunked + get('/next')) {
      client.send(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const text = await client.until('GET /next []')
    expect(text).toContain('POST / [abcde]')
  })

  it('is answered in order when many are sent at once', async () => {
    const first = signalled()
    const { port } = await stage.relay(async (exchange) => {
      if (exchange.head.path === '/0') await first.promise
      await echo(exchange)
    })
    const client = await stage.client(port)
    const posts = Array.from({ length: 20 }, (_, index) => {
      return `POST /${index} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nb${String(index).padStart(2, '0')}`
    })
    client.send(posts.join(''))
    first.resolve()
    const text = await client.until('POST /19 [b19]')
    const order = [...text.matchAll(/POST \/(\d+)/g)].map(([, index]) => Number(index))
    expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index))
  })

  it('is answered though thousands are here together, each before the next is looked at', async () => {
    const { port } = await stage.relayAtOnce((exchange, done) => {
      exchange.respond({ status: 200, body: exchange.head.path }, done)
    })
    const requests = Array.from({ length: 5_000 }, (_, index) => `GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`)
    const client = await stage.client(port)
    client.send(requests.join(''))
    const text = await client.until('\r\n\r\n/4999')
    expect([...text.matchAll(/\r\n\r\n\/(\d+)/g)].map(([, path]) => Number(path))).toEqual(requests.map((_, at) => at))
  })

  it('with Connection: close is the last one', async () => {
    const { port } = await stage.relay(echo)
    const text = await stage.ask(port, get('/', 'Connection: close\r\n') + get('/never'))
    expect(text).toContain('connection: close')
    expect(text).not.toContain('never')
  })

  it('of HTTP/1.0 closes, unless it asks to be kept', async () => {
    const { port } = await stage.relay(echo)
    expect(await stage.ask(port, 'GET / HTTP/1.0\r\n\r\n')).toContain('connection: close')
    const client = await stage.client(port)
    client.send('GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
    expect(await client.until('GET /1 []')).toContain('connection: keep-alive')
    client.send('GET /2 HTTP/1.0\r\n\r\n')
    expect(await client.closed()).toContain('GET /2 []')
  })

  it('with HEAD gets the length but no body; 204 and 304 get neither', async () => {
    const { port } = await stage.relay(async (exchange) => {
      const status = Number(exchange.head.path.slice(1))
      await exchange.respond({ status, body: status === 200 ? 'hello' : '' })
    })
    const head = await stage.ask(port, 'HEAD /200 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(head).toContain('content-length: 5')
    expect(bodyOf(head)).toBe('')
    for (const status of [204, 304]) {
      const text = await stage.ask(port, get(`/${status}`, 'Connection: close\r\n'))
      expect(text).toContain(`HTTP/1.1 ${status} `)
      expect(text).not.toMatch(/content-length|transfer-encoding/)
      expect(bodyOf(text)).toBe('')
    }
  })

  it('that expects 100-continue gets it when its body is wanted, and not before', async () => {
    const wanted = signalled()
    const { port } = await stage.relay(async (exchange) => {
      await wanted.promise
      await echo(exchange)
    })
    const client = await stage.client(port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n')
    await new Promise((resolve) => setImmediate(resolve))
    expect(client.text).toBe('')
    wanted.resolve()
    expect(await client.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    client.send('hello')
    expect(await client.until('[hello]')).toContain('HTTP/1.1 200 OK')
  })

  it('that expects 100-continue and is refused unread is not asked for its body', async () => {
    const { port } = await stage.relay((exchange) => exchange.respond({ status: 401 }))
    const text = await stage.ask(
      port,
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n',
    )
    expect(text).toMatch(/^HTTP\/1\.1 401 /)
    expect(text).toContain('connection: close')
  })
})

describe('a body nobody read', () => {
  it('is thrown away when it is small, and the connection goes on', async () => {
    const { port } = await stage.relay((exchange) => exchange.respond({ status: 200, body: exchange.head.path }))
    const client = await stage.client(port)
    client.send('POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc')
    await client.until('/1')
    client.send(`def${get('/2')}`)
    expect(await client.until('/2')).not.toContain('400')
  })

  it('ends the connection when it is large, and the answer still arrives', async () => {
    const { port } = await stage.relay((exchange) => exchange.respond({ status: 403, body: 'no' }))
    const client = await stage.client(port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n')
    client.send(Buffer.alloc(2_000_000))
    const text = await client.closed()
    expect(text).toMatch(/^HTTP\/1\.1 403 /)
    expect(text).toContain('connection: close')
  })

  it('of unknown length ends the connection once it has gone on too long', async () => {
    const { port } = await stage.relay((exchange) => exchange.respond({ status: 200, body: 'ok' }))
    const client = await stage.client(port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
    for (let index = 0; index < 20; index++) client.send(`2000\r\n${'x'.repeat(0x2000)}\r\n`)
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('readBody', () => {
  it('refuses more than its limit, announced or not', async () => {
    const { port } = await stage.relay(async (exchange) => {
      await exchange.readBody(10)
    })
    const announced = await stage.ask(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n')
    expect(announced).toMatch(/^HTTP\/1\.1 413 /)
    const chunked = `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n${'x'.repeat(11)}\r\n`
    expect(await stage.ask(port, chunked)).toMatch(/^HTTP\/1\.1 413 [^]*body_too_large/)
  })

  it('reports a body that breaks its framing as 400 and closes', async () => {
    const { port } = await stage.relay(echo)
    const text = await stage.ask(
      port,
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n${get('/never')}`,
    )
    expect(text).toMatch(/^HTTP\/1\.1 400 [^]*invalid_http/)
    expect(text).not.toContain('never')
  })

  it('reads a body of many megabytes', async () => {
    const { port } = await stage.relay(async (exchange) => {
      const body = await exchange.readBody(50_000_000)
      await exchange.respond({ status: 200, body: String(body.length) })
    })
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: new Uint8Array(20_000_000) })
    expect(await response.text()).toBe('20000000')
  })
})

describe('what is refused before any handler', () => {
  it.each([
    ['400', 'GET / HTTP/1.1\r\n\r\n'],
    ['400', 'GET / HTTP/1.1\nHost: a\n\n'],
    ['400', get('/', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n')],
    ['414', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['417', get('/', 'Expect: much\r\n')],
    ['431', get('/', `X: ${'a'.repeat(70_000)}\r\n`)],
    ['431', get('/', 'a: b\r\n'.repeat(300))],
    ['501', get('/', 'Transfer-Encoding: gzip, chunked\r\n')],
    ['505', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n'],
  ])('gets %s as the face has it, on a closed connection', async (status, bytes) => {
    let handled = 0
    const { port } = await stage.relay(async (exchange) => {
      handled++
      await exchange.respond({ status: 200 })
    })
    const text = await stage.ask(port, bytes)
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(text).toContain('connection: close')
    const { error } = JSON.parse(bodyOf(text))
    expect(error).toEqual({ code: expect.any(String), message: expect.any(String) })
    expect(handled).toBe(0)
  })

  it('is answered after the requests that came before it on the connection', async () => {
    const { port } = await stage.relay(echo)
    const text = await stage.ask(port, `${get('/good')}BAD\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*GET \/good \[\]HTTP\/1\.1 400 /)
  })
})

describe('a handler', () => {
  it('that throws gives 500 without telling why, a coded error gives its own status', async () => {
    const { port } = await stage.relay(async (exchange) => {
      if (exchange.head.path === '/coded') throw new SluiceError('model_not_found', { model: 'm' })
      throw new Error('secret')
    })
    const text = await stage.ask(port, get())
    expect(text).toMatch(/^HTTP\/1\.1 500 [^]*internal_error/)
    expect(text).not.toContain('secret')
    expect(await stage.ask(port, get('/coded'))).toMatch(/^HTTP\/1\.1 404 [^]*The model m does not exist/)
  })

  it('that returns without an answer gives 500', async () => {
    const { port } = await stage.relay(async () => {})
    expect(await stage.ask(port, get())).toMatch(/^HTTP\/1\.1 500 /)
  })

  it('that fails in the middle of its response cuts the connection', async () => {
    const { port } = await stage.relay(async (exchange) => {
      await exchange.startResponse(200, []).write('half')
      throw new Error('too late')
    })
    const text = await stage.ask(port, get())
    expect(text).toContain('4\r\nhalf\r\n')
    expect(text).not.toContain('0\r\n\r\n')
  })

  it('cannot smuggle a header through a line break', async () => {
    const { port } = await stage.relay((exchange) => exchange.respond({ status: 200, headers: [['a', 'b\r\nc: d']] }))
    expect(await stage.ask(port, get())).toMatch(/^HTTP\/1\.1 500 /)
  })

  it('streams in chunks, or until the close for HTTP/1.0', async () => {
    const { port } = await stage.relay(async (exchange) => {
      const stream = exchange.startResponse(200, [['content-type', 'text/event-stream']])
      await stream.write('one')
      await stream.write('')
      await stream.write(Buffer.from('two'))
      await stream.end()
      await stream.end()
    })
    const client = await stage.client(port)
    client.send(get())
    expect(bodyOf(await client.until('0\r\n\r\n'))).toBe('3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n')
    const old = await stage.ask(port, 'GET / HTTP/1.0\r\n\r\n')
    expect(old).not.toContain('transfer-encoding')
    expect(bodyOf(old)).toBe('onetwo')
  })

  it('hears at once when its client leaves', async () => {
    const started = signalled()
    const aborted = signalled<unknown>()
    const { port } = await stage.relay(async (exchange) => {
      exchange.signal.addEventListener('abort', () => aborted.resolve(exchange.signal.reason))
      started.resolve()
      await aborted.promise
    })
    const client = await stage.client(port)
    client.send(get())
    await started.promise
    client.socket.end()
    expect(await aborted.promise).toMatchObject({ code: 'client_gone' })
  })
})
