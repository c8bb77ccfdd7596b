import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'

/** What becomes of requests while it lasts. */
export type Trouble =
  | 'none'
  /** Everything is answered 429 and asked to come back in a second. */
  | 'busy'
  /** Watches are accepted and never answered. */
  | 'watches swallowed'
  /** No connection is accepted, and there are none. */
  | 'gone'

interface Kubeconfig {
  readonly clusters: Array<{ cluster: { server: string; 'certificate-authority-data': string } }>
}

/** A proxy in front of an API server, for everything that can be wrong between a client and it. */
export class TroubledServer {
  /** The requests that were let through: method (or `WATCH`) and path. */
  readonly asked: string[] = []
  /** The requests that were asked to come back later, with the times at which they came. */
  readonly refused: Array<{ readonly what: string; readonly at: number }> = []
  /** How many watches were never answered. */
  swallowed = 0
  /** How many requests the server itself asked to come back later. */
  busyAnswers = 0
  /** How many watches the server ended because what they continue is not known any more. */
  expiredWatches = 0
  readonly #config: Kubeconfig
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #watches = new Set<{ readonly from: IncomingMessage; readonly to: ServerResponse }>()
  #trouble: Trouble = 'none'

  constructor(kubeconfig: string) {
    this.#config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig
    this.#server = createServer((asked, answer) => this.#handle(asked, answer))
    this.#server.on('connection', (socket: Socket) => {
      if (this.#trouble === 'gone') socket.destroy()
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  /** Listens, and writes a kubeconfig that leads here. */
  async open(folder: string): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    const { port } = this.#server.address() as AddressInfo
    const cluster = { server: `http://127.0.0.1:${port}` }
    const file = join(folder, `troubled-${port}.kubeconfig`)
    writeFileSync(file, JSON.stringify({ ...this.#config, clusters: [{ ...this.#config.clusters[0], cluster }] }))
    return file
  }

  close(): void {
    this.#server.close().closeAllConnections()
    for (const { from } of this.#watches) from.destroy()
  }

  begin(trouble: Trouble): void {
    this.#trouble = trouble
    if (trouble === 'gone') for (const socket of this.#sockets) socket.destroy()
  }

  end(): void {
    this.#trouble = 'none'
  }

  /** Ends the watches that there are. */
  cutWatches(): void {
    for (const { to } of this.#watches) to.destroy()
  }

  /** From now on the watches that there are bring nothing, for ever; nobody says so. */
  freezeWatches(): number {
    for (const { from, to } of this.#watches) from.unpipe(to)
    return this.#watches.size
  }

  #handle(asked: IncomingMessage, answer: ServerResponse): void {
    const { method = '', url = '' } = asked
    const isWatch = new URL(url, 'http://server').searchParams.get('watch') === 'true'
    if (this.#trouble === 'busy') {
      this.refused.push({ what: `${method} ${url.replace(/timeoutSeconds=\d+/, '')}`, at: performance.now() })
      answer.writeHead(429, { 'retry-after': '1' }).end('Too many requests, please try again later.')
    } else if (this.#trouble === 'watches swallowed' && isWatch) this.swallowed += 1
    else this.#forward(asked, answer, isWatch)
  }

  #forward(asked: IncomingMessage, answer: ServerResponse, isWatch: boolean): void {
    const { server, 'certificate-authority-data': authority } = this.#config.clusters[0]?.cluster ?? {}
    const { method = 'GET', url = '', headers } = asked
    const ca = Buffer.from(authority ?? '', 'base64')
    this.asked.push(`${isWatch ? 'WATCH' : method} ${new URL(url, 'http://server').pathname}`)
    const forwarded = request(`${server}${url}`, { method, headers, ca, agent: false }, (from) => {
      if (from.statusCode === 429) this.busyAnswers += 1
      answer.writeHead(from.statusCode ?? 502, from.headers)
      if (isWatch) this.#follow(from, answer)
      from.pipe(answer)
    })
    forwarded.on('error', () => answer.destroy())
    answer.on('close', () => forwarded.destroy())
    asked.pipe(forwarded)
  }

  #follow(from: IncomingMessage, to: ServerResponse): void {
    const watch = { from, to }
    this.#watches.add(watch)
    to.on('close', () => this.#watches.delete(watch))
    // The server sends its headers at once, and its client waits for them.
    to.flushHeaders()
    from.on('data', (piece: Buffer) => {
      if (piece.includes('"type":"ERROR"') && piece.includes('"code":410')) this.expiredWatches += 1
    })
  }
}
