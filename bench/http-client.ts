import { type TLSSocket, connect } from 'node:tls'

export interface Target {
  readonly host: string
  readonly port: number
  /** The prefix of every path: `/vks/<id>`, or empty. */
  readonly base: string
  readonly ca: string
  readonly token: string
}

export interface Reply {
  readonly code: number
  readonly body: Buffer
}

interface Waiting {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
}

const headEnd = Buffer.from('\r\n\r\n')

/**
 * One connection with one request at a time. It uses a bare socket because the measuring program shares the machine
 * with the server, and an ordinary client costs as much per request as the server does.
 */
export class HttpClient {
  readonly #socket: TLSSocket
  readonly #target: Target
  #received: Buffer[] = []
  #size = 0
  #waiting: Waiting | undefined

  private constructor(target: Target, socket: TLSSocket) {
    this.#target = target
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    const fail = (error?: Error) => this.#waiting?.reject(error ?? new Error('the server closed the connection'))
    socket.on('error', fail)
    socket.on('close', () => fail())
  }

  static open(target: Target): Promise<HttpClient> {
    return new Promise((resolve, reject) => {
      const { host, port, ca } = target
      const socket = connect({ host, port, ca, ALPNProtocols: ['http/1.1'] }, () => {
        socket.off('error', reject)
        resolve(new HttpClient(target, socket))
      })
      socket.once('error', reject)
    })
  }

  request(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<Reply> {
    const { base, host, token } = this.#target
    const payload = body === undefined ? '' : JSON.stringify(body)
    const length =
      body === undefined ? '' : `content-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(payload)}\r\n`
    const head = `${method} ${base}${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\naccept: application/json\r\n${length}\r\n`
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(head + payload)
    })
  }

  /** Sends a request that must succeed. */
  async expect(method: string, path: string, body?: unknown, contentType?: string): Promise<Reply> {
    const reply = await this.request(method, path, body, contentType)
    if (reply.code < 300) return reply
    throw new Error(`${method} ${path}: ${reply.code} ${reply.body.toString('utf8').slice(0, 300)}`)
  }

  close(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk)
    this.#size += chunk.length
    const first = this.#received[0]
    if (!first) return
    const all = this.#received.length === 1 ? first : undefined
    const start = all ?? (first.includes(headEnd) ? first : Buffer.concat(this.#received))
    const split = start.indexOf(headEnd)
    if (split < 0) return
    const head = start.toString('latin1', 0, split).toLowerCase()
    const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
    const bodyAt = split + headEnd.length
    if (length === undefined && !head.includes('transfer-encoding: chunked')) return this.#finish(head, Buffer.alloc(0))
    if (length !== undefined) {
      if (this.#size < bodyAt + Number(length)) return
      return this.#finish(head, Buffer.concat(this.#received).subarray(bodyAt, bodyAt + Number(length)))
    }
    // The last chunk is empty, so only the end of the data has to be checked.
    if (!chunk.subarray(-7).toString('latin1').endsWith('0\r\n\r\n')) return
    this.#finish(head, unchunk(Buffer.concat(this.#received).subarray(bodyAt)))
  }

  #finish(head: string, body: Buffer): void {
    const waiting = this.#waiting
    this.#received = []
    this.#size = 0
    this.#waiting = undefined
    waiting?.resolve({ code: Number(head.slice(9, 12)), body })
  }
}

function unchunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const line = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (!(size > 0)) break
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
  return Buffer.concat(parts)
}
