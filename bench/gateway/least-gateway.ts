// The least that a gateway for models can do on Node's sockets, as a bound: it finds the model in the body, gives the request an
// id, shares the connections up, counts and writes a line. It trusts that every message comes whole, in one piece and well formed,
// refuses nothing and waits for nobody.
//   node bench/gateway/least-gateway.ts UPSTREAM_PORT LOG_FILE → prints its port
import { connect, createServer, type Socket } from 'node:net'
import { GatheredFile } from '../../src/platform/gathered-file.ts'

const [upstreamPort, logFile = '/dev/null'] = process.argv.slice(2)
const log = new GatheredFile(logFile)
setInterval(() => log.flush(), 200).unref()

const models = new Map([['bench', { requests: 0, bytes: 0 }]])
const idle: Upstream[] = []
/** What is read from upstreams; it is copied out at once. */
const room = Buffer.allocUnsafeSlow(65_536)
let ids = 0

interface Request {
  readonly client: Socket
  readonly id: string
  readonly model: string
  readonly at: number
}

class Upstream {
  readonly #socket: Socket
  #request: Request | undefined

  constructor() {
    const callback = (bytes: number) => {
      this.#answer(bytes)
      return true
    }
    const address = { port: Number(upstreamPort), host: '127.0.0.1', noDelay: true }
    this.#socket = connect({ ...address, onread: { buffer: room, callback } })
    this.#socket.on('error', () => this.#request?.client.destroy())
  }

  send(request: Request, bytes: Buffer): void {
    this.#request = request
    this.#socket.write(bytes)
  }

  #answer(bytes: number): void {
    if (!this.#request) return
    const { client, id, model, at } = this.#request
    const headEnd = room.indexOf('\r\n\r\n') + 2
    client.write(withFields(room, bytes, headEnd, `x-request-id: ${id}\r\naccess-control-allow-origin: *\r\n`))
    idle.push(this)
    const counted = models.get(model)
    if (!counted) return
    counted.requests++
    counted.bytes += bytes - headEnd - 2
    const now = Date.now()
    const what = `"requestId":"${id}","method":"POST","route":"chat/completions","model":"${model}","status":200`
    log.write(`{"level":"info","time":${now},${what},"durationMs":${now - at},"bytes":${bytes - headEnd - 2}}\n`)
  }
}

const server = createServer({ noDelay: true }, (client) => {
  client.on('data', (chunk: Buffer) => {
    const headEnd = chunk.indexOf('\r\n\r\n') + 2
    const model = modelIn(chunk.toString('utf8', headEnd + 2))
    if (!models.has(model)) {
      client.destroy()
      return
    }
    const id = `req-0123456789abcdef01234567-${++ids}`
    const fields = `x-forwarded-for: 127.0.0.1\r\nx-request-id: ${id}\r\n`
    const request = { client, id, model, at: Date.now() }
    ;(idle.pop() ?? new Upstream()).send(request, withFields(chunk, chunk.length, headEnd, fields))
  })
  client.on('error', () => client.destroy())
})
server.listen(0, '127.0.0.1', 4096, () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : address)
})
process.on('SIGTERM', () => process.exit(0))

function modelIn(text: string): string {
  const value: unknown = JSON.parse(text)
  return typeof value === 'object' && value !== null && 'model' in value ? String(value.model) : ''
}

function withFields(message: Buffer, end: number, headEnd: number, fields: string): Buffer {
  const text = message.toString('latin1', 0, headEnd) + fields
  const bytes = Buffer.allocUnsafe(text.length + end - headEnd)
  bytes.write(text, 'latin1')
  message.copy(bytes, text.length, headEnd, end)
  return bytes
}
