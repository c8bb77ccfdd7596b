import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { headerField } from '../http/header-list.ts'
import { type RawPeer, RelayStage, signalled } from '../relay-stage.fixture.ts'
import { untilLeftUnread } from '../socket/unread-bytes.fixture.ts'
import { forwardTo, get } from './forwarding.fixture.ts'

const stage = new RelayStage()
afterEach(() => stage.clear())

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
    await untilLeftUnread(client.socket, () => client.poured)
    expect(client.poured).toBeLessThan(total)
    peer.socket.destroy()
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 502 /)
  })
})
