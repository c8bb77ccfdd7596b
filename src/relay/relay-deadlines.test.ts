import { afterEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { type PromisedHandler, RelayStage, signalled } from './relay-stage.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

const echo: PromisedHandler = async (exchange) => {
  const body = await exchange.readBody(1_000_000)
  await exchange.respond({ status: 200, body: `${exchange.head.method} ${exchange.head.target} [${body.toString()}]` })
}

const get = (path = '/', fields = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`

describe('time', () => {
  it('a head that takes too long gets 408, however steadily it drips', async () => {
    const clock = new FakeClock()
    const { port } = await stage.relay(echo, { clock, limits: { headTimeoutMs: 10_000 } })
    const client = await stage.client(port)
    client.send('GET / HTTP/1.1\r\n')
    for (let second = 0; second < 9; second++) {
      await clock.advance(1_000)
      client.send(`X-${second}: y\r\n`)
    }
    expect(client.text).toBe('')
    await clock.advance(2_000)
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('a connection that says nothing is closed without a word', async () => {
    const clock = new FakeClock()
    const { port } = await stage.relay(echo, { clock, limits: { headTimeoutMs: 10_000, keepAliveIdleMs: 20_000 } })
    const silent = await stage.client(port)
    const idle = await stage.client(port)
    idle.send(get())
    await idle.until('GET / []')
    idle.clear()
    await clock.advance(10_001)
    expect(await silent.closed()).toBe('')
    await clock.advance(10_001)
    expect(await idle.closed()).toBe('')
  })

  it.each([
    ['before its first request', ''],
    ['between two requests', get('/first')],
  ])('a connection is not cut for being silent %s while the loop was too busy to read', async (_when, before) => {
    const clock = new FakeClock()
    const { port } = await stage.relay(echo, { clock, limits: { headTimeoutMs: 10_000, keepAliveIdleMs: 10_000 } })
    const client = await stage.client(port)
    if (before !== '') {
      client.send(before)
      await client.until('/first []')
      client.clear()
    }
    // A loop runs its timers before it reads.
    setTimeout(() => {
      client.send(get('/second'))
      clock.jump(10_001)
    })
    expect(await client.until('GET /second []')).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('a body that stalls while it is being read gets 408', async () => {
    const clock = new FakeClock()
    const reading = signalled()
    const handler: PromisedHandler = (exchange) => {
      reading.resolve()
      return echo(exchange)
    }
    const { port } = await stage.relay(handler, { clock, limits: { bodyIdleMs: 5_000 } })
    const client = await stage.client(port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab')
    await reading.promise
    await clock.advance(5_001)
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('a client that takes nothing of its response is cut', async () => {
    const clock = new FakeClock()
    const stuck = signalled()
    const failed = signalled<unknown>()
    const { port } = await stage.relay(
      async (exchange) => {
        const stream = exchange.startResponse(200, [])
        setImmediate(stuck.resolve)
        try {
          for (;;) await stream.write(Buffer.alloc(1_000_000))
        } catch (error) {
          failed.resolve(error)
        }
      },
      { clock, limits: { writeStallMs: 30_000 } },
    )
    const client = await stage.client(port)
    client.socket.pause()
    client.send(get())
    await stuck.promise
    // The kernel's buffers fill first; then time decides.
    const seen: unknown[] = []
    void failed.promise.then((reason) => seen.push(reason))
    while (seen.length === 0) await clock.advance(10_000)
    expect(seen).toMatchObject([{ code: 'client_gone' }])
  })
})

describe('close', () => {
  it('closes idle connections at once and lets a running exchange finish', async () => {
    const started = signalled()
    const finish = signalled()
    const { server, port } = await stage.relay(async (exchange) => {
      if (exchange.head.path === '/slow') {
        started.resolve()
        await finish.promise
      }
      await exchange.respond({ status: 200, body: 'done' })
    })
    const idle = await stage.client(port)
    idle.send(get('/quick'))
    await idle.until('done')
    const slow = await stage.client(port)
    slow.send(get('/slow'))
    await started.promise
    const closed = server.close({ graceMs: 10_000 })
    await idle.closed()
    finish.resolve()
    const text = await slow.closed()
    expect(text).toContain('done')
    expect(text).toContain('connection: close')
    slow.socket.end()
    await closed
    await expect(stage.client(port)).rejects.toThrow('ECONNREFUSED')
  })

  it('aborts what outlasts the grace, and lets it say so', async () => {
    const clock = new FakeClock()
    const started = signalled()
    const { server, port } = await stage.relay(
      async (exchange) => {
        const stream = exchange.startResponse(200, [])
        const over = signalled()
        exchange.signal.addEventListener('abort', () => over.resolve())
        started.resolve()
        await over.promise
        await stream.write('data: stopping\n\n')
        await stream.end()
      },
      { clock },
    )
    const client = await stage.client(port)
    client.send(get())
    await started.promise
    const closed = server.close({ graceMs: 5_000 })
    await clock.advance(5_001)
    expect(await client.closed()).toContain('data: stopping\n\n\r\n0\r\n\r\n')
    client.socket.end()
    await clock.advance(10_000)
    await closed
  })
})
