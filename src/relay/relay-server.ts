import * as net from 'node:net'
import * as tls from 'node:tls'
import { systemClock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { ClientConnection, type ConnectionTools } from './client/client-connection.ts'
import { ClientCounts } from './client/client-counts.ts'
import { addressOf } from './client/client-facts.ts'
import { clientNetwork } from './client/client-network.ts'
import type { Answer, Handler } from './exchange.ts'
import { type RelayLimits, defaultRelayLimits } from './limits.ts'
import { sortByFirstByte } from './socket/first-byte.ts'
import { ReadBatch } from './socket/read-batch.ts'
import { SocketInput } from './socket/socket-input.ts'
import { TurnClock } from './socket/turn-clock.ts'
import { UpstreamPool } from './upstream/upstream-pool.ts'

export interface RelayServerOptions {
  readonly handler: Handler
  /** Makes the answer to a failure that no handler answered. Its form is up to the API that is served. */
  readonly errorAnswer: (error: SluiceError) => Answer
  readonly log: Logger
  /** The clock. Pass it if others who work on the same requests should see the same time. */
  readonly clock?: TurnClock
  /** If set, the server speaks TLS. A function is called again on every `reloadTls`. */
  readonly tls?: tls.SecureContextOptions | (() => tls.SecureContextOptions)
  /** What is shown to clients that ask for this name, where it is something else. */
  readonly contextOf?: (serverName: string) => tls.SecureContext | undefined
  readonly limits?: Partial<RelayLimits>
  /** Whether an address is a proxy's, used by many clients: it is exempt from limits per address. */
  readonly isShared?: (address: string) => boolean
}

/** The `Retry-After` if there is no room. */
const retryAfterSeconds = 5
/** How many refused connections are answered at a time; more are just closed. */
const mostRefused = 1_000
/** How many of the oldest connections are checked for one that can be closed to make room. */
const lookedAtConnections = 1_000

const socketOptions = { allowHalfOpen: true, noDelay: true }

export interface ListenOptions {
  /** Whether other threads may listen on the same port and share its connections. */
  readonly reusePort?: boolean
  /**
   * A socket that listens already, in another network than this program's: clients come from there, too. It is closed
   * with the server.
   */
  readonly outside?: number | undefined
}

/** Accepts connections and passes each request to the handler. */
export class RelayServer {
  readonly #options: RelayServerOptions
  readonly #clock: TurnClock
  readonly #batch: ReadBatch
  readonly #limits: RelayLimits
  readonly #pool: UpstreamPool
  readonly #server: net.Server
  /** Gets the connections of those that speak TLS, where that is spoken. */
  readonly #secure: tls.Server | undefined
  /** Takes clients from another network, and hands them to the server. */
  #outside: net.Server | undefined
  readonly #connections = new Set<ClientConnection>()
  readonly #perClient = new ClientCounts()
  /** Connections that are only told that there is no room. */
  #refused = 0
  /** Every accepted socket, including those in a TLS handshake. */
  readonly #sockets = new Set<net.Socket>()
  #onEmpty: () => void = () => {}

  constructor(options: RelayServerOptions) {
    this.#options = options
    this.#clock = options.clock ?? new TurnClock(systemClock)
    this.#limits = { ...defaultRelayLimits, ...options.limits }
    this.#batch = new ReadBatch(this.#clock)
    this.#pool = new UpstreamPool(this.#limits, this.#clock, this.#batch)
    this.#secure = options.tls && this.#createSecure()
    this.#server = net.createServer(socketOptions, (socket) => {
      if (this.#secure) this.#greet(socket, this.#secure)
      else this.#accept(socket, false)
    })
    this.#server.maxConnections = this.#limits.maxConnections + 2 * mostRefused
  }

  listen(
    host: string,
    port: number,
    { reusePort = false, outside }: ListenOptions = {},
  ): Promise<{ host: string; port: number }> {
    if (outside === undefined) return this.#listen(this.#server, { host, port, reusePort })
    const server = net.createServer(socketOptions, (socket) => {
      this.#server.emit('connection', socket)
    })
    server.maxConnections = this.#server.maxConnections
    this.#outside = server
    return this.#listen(server, { fd: outside }).then((there) =>
      this.#listen(this.#server, { host, port: there.port, reusePort }),
    )
  }

  #listen(server: net.Server, where: net.ListenOptions & { fd?: number }): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ ...where, backlog: 1024 }, () => {
        server.off('error', reject)
        server.on('error', (error) => this.#options.log.error({ err: error }, 'the listening socket failed'))
        const address = server.address()
        if (address === null || typeof address === 'string') return reject(new Error('no address to listen on'))
        resolve({ host: address.address, port: address.port })
      })
    })
  }

  /** New connections use what the `tls` function returns now; open ones keep theirs. */
  reloadTls(): void {
    this.#secure?.setSecureContext(this.#secureContext())
  }

  /**
   * Stops accepting, closes idle connections, lets running exchanges finish within the grace, then aborts them: a
   * handler can still tell its client.
   */
  async close(options: { readonly graceMs: number }): Promise<void> {
    this.#outside?.close()
    const stopped = this.#server.listening
      ? new Promise<void>((resolve) => this.#server.close(() => resolve()))
      : undefined
    for (const connection of this.#connections) connection.stop()
    await this.#emptyWithin(options.graceMs)
    for (const connection of this.#connections) connection.abort()
    await this.#emptyWithin(this.#limits.lingerMs)
    for (const socket of this.#sockets) socket.destroy()
    this.#pool.close()
    await stopped
  }

  /** Resolves when no connection is left, or after `ms`. */
  #emptyWithin(ms: number): Promise<void> {
    if (this.#connections.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, resolve)
      this.#onEmpty = () => {
        cancel()
        resolve()
      }
    })
  }

  /** Who speaks plain HTTP where TLS is spoken is told so, instead of being cut off. */
  #greet(socket: net.Socket, secure: tls.Server): void {
    this.#keep(socket)
    const cancel = this.#clock.after(this.#limits.headTimeoutMs, () => socket.destroy())
    sortByFirstByte(socket, {
      tls: () => void secure.emit('connection', socket),
      http: () => {
        // Another socket takes its place.
        this.#sockets.delete(socket)
        this.#accept(socket, false, new SluiceError('tls_required'))
      },
      decided: cancel,
    })
  }

  #createSecure(): tls.Server {
    const options = {
      ...socketOptions,
      ...this.#secureContext(),
      ALPNProtocols: ['http/1.1'],
      SNICallback: this.#named,
      handshakeTimeout: this.#limits.headTimeoutMs,
    }
    const server = tls.createServer(options, (socket) => this.#accept(socket, true))
    server.on('tlsClientError', (error, socket) => {
      this.#options.log.debug({ err: error }, 'TLS handshake failed')
      socket.destroy()
    })
    return server
  }

  readonly #named: NonNullable<tls.TlsOptions['SNICallback']> = (name, done) => {
    done(null, this.#options.contextOf?.(name))
  }

  #secureContext(): tls.SecureContextOptions {
    const { tls: context } = this.#options
    return typeof context === 'function' ? context() : (context ?? {})
  }

  #keep(socket: net.Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  #accept(accepted: net.Socket, secure: boolean, unwanted?: SluiceError): void {
    const input = new SocketInput(this.#batch)
    const socket = input.accept(accepted)
    if (!secure) this.#keep(socket)
    const client = clientNetwork(addressOf(socket))
    const refusal = unwanted ?? this.#refusalOf(client, addressOf(socket))
    if (refusal && this.#refused === mostRefused) {
      socket.destroy()
      return
    }
    const tools: ConnectionTools = {
      handler: this.#options.handler,
      errorAnswer: this.#options.errorAnswer,
      log: this.#options.log,
      clock: this.#clock,
      limits: this.#limits,
      pool: this.#pool,
      onFinished: (connection) => {
        this.#connections.delete(connection)
        if (refusal) this.#refused--
        else this.#perClient.add(client, -1)
        if (this.#connections.size === 0) this.#onEmpty()
      },
    }
    const connection = new ClientConnection(socket, input, secure, tools)
    this.#connections.add(connection)
    if (refusal) {
      this.#refused++
      connection.refuse(refusal)
    } else {
      this.#perClient.add(client, 1)
    }
  }

  /** Why another connection has to be refused, if it has to. */
  #refusalOf(client: string, address: string): SluiceError | undefined {
    const { maxConnections, maxConnectionsPerAddress: limit } = this.#limits
    if (this.#perClient.get(client) >= limit && !this.#options.isShared?.(address)) {
      return new SluiceError('too_many_connections', { limit, retryAfterSeconds })
    }
    if (this.#connections.size - this.#refused < maxConnections || this.#closeIdle()) return undefined
    return new SluiceError('server_full', { retryAfterSeconds })
  }

  /** Closes the oldest connection that is between requests, to make room. */
  #closeIdle(): boolean {
    let left = lookedAtConnections
    for (const connection of this.#connections) {
      if (left-- === 0) return false
      if (!connection.isIdle) continue
      connection.cut()
      return true
    }
    return false
  }
}
