// The least that a proxy of HTTP has to do on Node's sockets: it finds where messages end and shares the connections up among
// its clients. It trusts everybody, refuses nothing, and forgets whoever sends something unusual.
//   node bench/gateway/least-proxy.ts UPSTREAM_PORT → prints its port
import { connect, createServer, type Socket } from 'node:net'

const upstreamPort = Number(process.argv[2])
const idle: Upstream[] = []

/** Knows how much of a message is still to come. */
class MessageEnd {
  #pending = ''
  #left = 0

  /** True when the message ends with this piece. */
  endsWith(piece: Buffer): boolean {
    if (this.#left === 0) {
      const text = this.#pending + piece.toString('latin1')
      const headEnd = text.indexOf('\r\n\r\n')
      if (headEnd < 0) {
        this.#pending = text
        return false
      }
      const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd + 2))?.[1] ?? '0'
      this.#left = headEnd + 4 + Number(length) - this.#pending.length
      this.#pending = ''
    }
    this.#left -= piece.length
    return this.#left === 0
  }
}

class Upstream {
  readonly socket = connect({ port: upstreamPort, host: '127.0.0.1', noDelay: true })
  readonly #answer = new MessageEnd()
  client: Socket | undefined

  constructor() {
    this.socket.on('data', (piece: Buffer) => {
      this.client?.write(piece)
      if (this.#answer.endsWith(piece)) idle.push(this)
    })
    this.socket.on('error', () => this.client?.destroy())
  }
}

const server = createServer({ noDelay: true }, (client) => {
  const request = new MessageEnd()
  let upstream: Upstream | undefined
  client.on('data', (piece: Buffer) => {
    upstream ??= idle.pop() ?? new Upstream()
    upstream.client = client
    upstream.socket.write(piece)
    if (request.endsWith(piece)) upstream = undefined
  })
  client.on('error', () => client.destroy())
})
server.listen(0, '127.0.0.1', 4096, () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : address)
})
process.on('SIGTERM', () => process.exit(0))
