// The least that a gateway for models can do on the relay's connections, as a bound. It finds the model in the body,
// gives the request an ID, shares the upstream connections, counts and writes a log line. It assumes that every message
// arrives whole, in one piece and well formed; it refuses nothing and waits for nothing.
//   node bench/gateway/least-gateway.ts UPSTREAM_PORT LOG_FILE → prints its port
import { connect, createServer, type Socket } from 'node:net'
import { systemClock } from '../../src/foundation/clock.ts'
import { LineFile } from '../../src/platform/data/line-file.ts'
import { ReadBatch } from '../../src/relay/socket/read-batch.ts'
import { SocketInput } from '../../src/relay/socket/socket-input.ts'
import { outputRoom, SocketOutput } from '../../src/relay/socket/socket-output.ts'
import { TurnClock } from '../../src/relay/socket/turn-clock.ts'

const [upstreamPort, logFile = '/dev/null'] = process.argv.slice(2)
const log = new LineFile(logFile)
setInterval(() => log.flush(), 200).unref()

const models = new Map([['bench', { requests: 0, bytes: 0 }]])
const idle: Upstream[] = []
const batch = new ReadBatch(new TurnClock(systemClock))
let ids = 0

interface Request {
  readonly client: Client
  readonly id: string
  readonly model: string
  readonly at: number
}

interface Client {
  readonly socket: Socket
  readonly out: SocketOutput
}

class Upstream {
  readonly #socket: Socket
  #out: SocketOutput | undefined
  #request: Request | undefined

  constructor() {
    const input = new SocketInput(batch)
    const address = { port: Number(upstreamPort), host: '127.0.0.1', noDelay: true }
    const socket = connect({ ...address, onread: input })
    socket.on('connect', () => {
      this.#out = new SocketOutput(socket, () => {})
      input.listen(socket, (chunk) => this.#answer(chunk))
    })
    socket.on('error', () => this.#request?.client.socket.destroy())
    this.#socket = socket
  }

  send(request: Request, message: Buffer, headEnd: number, fields: string): void {
    this.#request = request
    if (this.#out) writeWith(this.#out, message, headEnd, fields)
    else this.#socket.once('connect', () => this.#out && writeWith(this.#out, message, headEnd, fields))
  }

  #answer(message: Buffer): void {
    if (!this.#request) return
    const { client, id, model, at } = this.#request
    const bytes = message.length
    const headEnd = message.indexOf('\r\n\r\n') + 2
    writeWith(client.out, message, headEnd, `x-request-id: ${id}\r\naccess-control-allow-origin: *\r\n`)
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

const server = createServer({ noDelay: true }, (accepted) => {
  const input = new SocketInput(batch)
  const socket = input.accept(accepted)
  const client = { socket, out: new SocketOutput(socket, () => {}) }
  input.listen(socket, (chunk) => {
    const headEnd = chunk.indexOf('\r\n\r\n') + 2
    const model = modelIn(chunk.toString('utf8', headEnd + 2))
    if (!models.has(model)) {
      socket.destroy()
      return
    }
    const id = `req-0123456789abcdef01234567-${++ids}`
    const fields = `x-forwarded-for: 127.0.0.1\r\nx-request-id: ${id}\r\n`
    const request = { client, id, model, at: Date.now() }
    ;(idle.pop() ?? new Upstream()).send(request, chunk, headEnd, fields)
  })
  socket.on('error', () => socket.destroy())
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

function writeWith(out: SocketOutput, message: Buffer, headEnd: number, fields: string): void {
  const bytes = outputRoom.first(message.length + fields.length)
  message.copy(bytes, 0, 0, headEnd)
  bytes.write(fields, headEnd, 'latin1')
  message.copy(bytes, headEnd + fields.length, headEnd)
  out.write(bytes)
}
