import { type Server, createServer as createHttpServer, type RequestListener } from 'node:http'
import { type Server as NetServer, type Socket, connect, createServer } from 'node:net'
import type { Clock } from '../foundation/clock.ts'
import { asError, type SluiceError } from '../foundation/errors.ts'
import { silentLogger } from '../foundation/log.ts'
import type { Answer, Done, Exchange, ForwardOptions, ForwardResult, Handler, Upstream } from './exchange.ts'
import { RelayServer, type RelayServerOptions } from './relay-server.ts'
import { TurnClock } from './socket/turn-clock.ts'

type RelayOptions = Partial<Omit<RelayServerOptions, 'handler' | 'clock'>> & { readonly clock?: Clock }

/** The simplest face there can be: the code, and when to come back. */
export function plainError({ status, code, message, details }: SluiceError): Answer {
  const { retryAfterSeconds } = details
  const headers = retryAfterSeconds === undefined ? [] : [['retry-after', String(retryAfterSeconds)] as const]
  return { status, headers, body: JSON.stringify({ error: { code, message } }) }
}

/** An exchange by promises, which is how a test is easiest to read. */
export type PromisedExchange = Pick<Exchange, 'head' | 'client' | 'signal' | 'responseStarted' | 'startResponse'> & {
  readBody(limitBytes: number): Promise<Buffer>
  respond(answer: Answer): Promise<void>
  forward(upstream: Upstream, options?: ForwardOptions): Promise<ForwardResult>
}

export type PromisedHandler = (exchange: PromisedExchange) => Promise<void>

export function handledBy(handler: PromisedHandler): Handler {
  return (exchange, end) => {
    handler(promised(exchange)).then(() => end(), end)
  }
}

function promised(exchange: Exchange): PromisedExchange {
  return {
    head: exchange.head,
    client: exchange.client,
    get signal() {
      return exchange.signal
    },
    get responseStarted() {
      return exchange.responseStarted
    },
    startResponse: (status, headers) => exchange.startResponse(status, headers),
    readBody: async (limitBytes) => {
      await settled((done) => exchange.readBody(limitBytes, () => {}, done))
      return exchange.joinedBody()
    },
    respond: (answer) => settled((done) => exchange.respond(answer, done)),
    forward: (upstream, options = {}) =>
      new Promise((resolve, reject) => {
        exchange.forward(upstream, options, { onDelivered: resolve, onNotDelivered: reject })
      }),
  }
}

function settled(start: (done: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((failure) => (failure === undefined ? resolve() : reject(asError(failure))))
  })
}

/** What a test starts, so that it is all gone when the test is. */
export class RelayStage {
  readonly #cleanups: Array<() => Promise<void> | void> = []

  relay(handler: PromisedHandler, options: RelayOptions = {}) {
    return this.relayAtOnce(handledBy(handler), options)
  }

  /** With a handler that answers before it returns. */
  async relayAtOnce(handler: Handler, options: RelayOptions = {}) {
    const { clock, ...others } = options
    const time = clock && { clock: new TurnClock(clock) }
    const server = new RelayServer({ handler, errorAnswer: plainError, log: silentLogger, ...others, ...time })
    const { port } = await server.listen('127.0.0.1', 0)
    this.#cleanups.push(() => server.close({ graceMs: 0 }))
    return { server, port }
  }

  async client(port: number): Promise<RawPeer> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
    this.#cleanups.push(() => void socket.destroy())
    const peer = new RawPeer(socket)
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return peer
  }

  /** Sends raw bytes on a new connection and returns everything that comes back until the server closes. */
  async ask(port: number, bytes: string | Buffer): Promise<string> {
    const client = await this.client(port)
    client.send(bytes)
    return client.closed()
  }

  /** An upstream that is Node's own HTTP server. */
  async httpUpstream(listener: RequestListener, prepare: (server: Server) => void = () => {}): Promise<Upstream> {
    const server = createHttpServer(listener)
    prepare(server)
    this.#cleanups.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return listening(server)
  }

  /** An upstream that does with its sockets what the test says. */
  async rawUpstream(onConnection: (peer: RawPeer, count: number) => void): Promise<Upstream> {
    let count = 0
    const sockets = new Set<Socket>()
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      sockets.add(socket)
      onConnection(new RawPeer(socket), ++count)
    })
    this.#cleanups.push(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    return listening(server)
  }

  async clear(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).toReversed()) await cleanup()
  }
}

async function listening(server: NetServer): Promise<Upstream> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  return { host: '127.0.0.1', port: address.port }
}

/** One end of a connection, as bytes. */
export class RawPeer {
  readonly socket: Socket
  #received: Buffer[] = []
  #over = false
  readonly #watchers = new Set<() => void>()

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#received.push(chunk)
      this.#look()
    })
    const over = () => {
      this.#over = true
      this.#look()
    }
    socket.on('end', over)
    socket.on('close', over)
    socket.on('error', () => {})
  }

  get text(): string {
    return Buffer.concat(this.#received).toString('latin1')
  }

  get bytes(): number {
    return this.#received.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  send(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }

  /** Bytes of `pour` that the kernel has taken. */
  poured = 0

  /** Sends much, a piece when the last one is gone, so that `poured` shows how far the other side lets it come. */
  pour(total: number): void {
    if (this.poured >= total || this.socket.destroyed) return
    const piece = Buffer.alloc(Math.min(256_000, total - this.poured))
    this.socket.write(piece, (error) => {
      if (error) return
      this.poured += piece.length
      this.pour(total)
    })
  }

  /** Waits until what was received satisfies the test; fails when the other end closes first. */
  async until(isThere: string | ((text: string) => boolean)): Promise<string> {
    const test = typeof isThere === 'string' ? (text: string) => text.includes(isThere) : isThere
    await this.#when(() => this.#over || test(this.text))
    if (!test(this.text)) throw new Error(`closed before it came; received: ${JSON.stringify(this.text)}`)
    return this.text
  }

  /** Everything received by the time the other end has closed. */
  async closed(): Promise<string> {
    await this.#when(() => this.#over)
    return this.text
  }

  /** Forgets what was received so far. */
  clear(): void {
    this.#received = []
  }

  #when(isTrue: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const watcher = () => {
        if (!isTrue()) return
        this.#watchers.delete(watcher)
        resolve()
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }

  #look(): void {
    for (const watcher of this.#watchers) watcher()
  }
}

/** A promise with its ends in hand. */
export function signalled<T = void>() {
  return Promise.withResolvers<T>()
}
