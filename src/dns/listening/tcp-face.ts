import { type Server, type Socket, createServer, isIPv6 } from 'node:net'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { DnsMetrics } from '../dns-metrics.ts'
import { MessageFramer, framed } from '../messages/message-framer.ts'
import type { QueryAnswerer } from '../resolver.ts'

export interface TcpFaceOptions {
  readonly resolver: QueryAnswerer
  readonly clock: Clock
  readonly metrics: DnsMetrics
}

export const tcpLimits = {
  connections: 512,
  connectionsPerClient: 32,
  /** Queries of one connection in progress; more are read when there are fewer. */
  underWay: 64,
  /** Queries of one connection that are answered in one turn of the event loop. */
  perTurn: 32,
  /** From one whole query to the next, answers included. */
  idleMs: 10_000,
}

/**
 * Queries over TCP, several per connection, each preceded by its length. Answers are sent in the order they are ready.
 */
export class TcpFace {
  readonly #options: TcpFaceOptions
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #clients = new Map<string, number>()

  constructor(options: TcpFaceOptions) {
    this.#options = options
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => this.#accept(socket))
    this.#server.maxConnections = tcpLimits.connections
  }

  /** Resolves to the port. */
  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ port, host: address, ipv6Only: isIPv6(address) }, () => {
        this.#server.off('error', reject)
        // Out of file descriptors for a moment: the next connection may succeed.
        this.#server.on('error', () => {})
        const bound = this.#server.address()
        resolve(typeof bound === 'object' && bound ? bound.port : port)
      })
    })
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  #accept(socket: Socket): void {
    const { connections } = this.#options.metrics
    const address = socket.remoteAddress ?? ''
    const others = this.#clients.get(address) ?? 0
    socket.on('error', () => {})
    if (others >= tcpLimits.connectionsPerClient) return void socket.destroy()
    this.#clients.set(address, others + 1)
    this.#sockets.add(socket)
    connections.inc()
    const conversation = new Conversation(socket, address, this.#options)
    socket.on('close', () => {
      conversation.end()
      this.#sockets.delete(socket)
      connections.dec()
      const left = (this.#clients.get(address) ?? 1) - 1
      if (left > 0) this.#clients.set(address, left)
      else this.#clients.delete(address)
    })
  }
}

/** One connection: chunks in, answers out. */
class Conversation {
  readonly #socket: Socket
  readonly #address: string
  readonly #options: TcpFaceOptions
  readonly #framer = new MessageFramer()
  #underWay = 0
  #ended = false
  #saidAll = false
  #cancelIdle: CancelTimer = () => {}

  constructor(socket: Socket, address: string, options: TcpFaceOptions) {
    this.#socket = socket
    this.#address = address
    this.#options = options
    this.#rest()
    socket.on('data', (piece) => {
      this.#framer.add(piece)
      this.#proceed()
    })
    socket.on('drain', () => this.#proceed())
    socket.on('end', () => {
      this.#saidAll = true
      this.#proceed()
    })
  }

  end(): void {
    this.#ended = true
    this.#cancelIdle()
  }

  /**
   * Answers complete queries, as long as the client reads answers and not too many are in progress; only so many per
   * turn.
   */
  #proceed(): void {
    for (let count = 0; !this.#ended && !this.#full; count++) {
      if (count === tcpLimits.perTurn) return this.#later()
      const query = this.#framer.next()
      if (!query) return this.#wait()
      this.#rest()
      this.#underWay++
      const answer = this.#options.resolver.answer(query, { address: this.#address, transport: 'tcp' })
      if (answer instanceof Promise) void answer.then((bytes) => this.#sendLate(bytes))
      else this.#send(answer)
    }
    this.#socket.pause()
  }

  #later(): void {
    this.#socket.pause()
    setImmediate(() => this.#proceed())
  }

  /** Waits for the rest of a query; a connection that the client has ended is closed when all is answered. */
  #wait(): void {
    if (!this.#saidAll) this.#socket.resume()
    else if (this.#underWay === 0) this.#socket.end()
  }

  get #full(): boolean {
    return this.#underWay >= tcpLimits.underWay || this.#socket.writableNeedDrain
  }

  #send(bytes: Buffer | undefined): void {
    this.#underWay--
    if (this.#ended) return
    // What gets no answer was not a query, so it is unknown where the next one would begin.
    if (!bytes) return void this.#socket.destroy()
    this.#socket.write(framed(bytes))
    this.#rest()
  }

  #sendLate(bytes: Buffer | undefined): void {
    this.#send(bytes)
    this.#proceed()
  }

  /** Starts the time in which the next query must be complete. */
  #rest(): void {
    this.#cancelIdle()
    this.#cancelIdle = this.#options.clock.after(tcpLimits.idleMs, () => this.#socket.destroy())
  }
}
