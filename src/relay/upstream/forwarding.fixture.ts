import type { ForwardOptions, ForwardResult, Upstream } from '../exchange.ts'
import type { PromisedHandler, RawPeer } from '../relay-stage.fixture.ts'

/** A handler that does nothing but forward. */
export const forwardTo =
  (upstream: Upstream, options: ForwardOptions = {}, results: ForwardResult[] = []): PromisedHandler =>
  async (exchange) => {
    results.push(await exchange.forward(upstream, options))
  }

export const get = (path = '/', fields = '') => `GET ${path} HTTP/1.1\r\nHost: front.example\r\n${fields}\r\n`
export const post = (body: string) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
export const close = 'Connection: close\r\n'
export const bodyOf = (response: string) => response.slice(response.indexOf('\r\n\r\n') + 4)

/** Answers every request on the connection with the same bytes. */
export const answering =
  (bytes: string, thenEnd = false) =>
  (peer: RawPeer) => {
    let seen = 0
    peer.socket.on('data', () => {
      const heads = peer.text.split('\r\n\r\n').length - 1
      for (; seen < heads; seen++) peer.send(bytes)
      if (thenEnd) peer.socket.end()
    })
  }
