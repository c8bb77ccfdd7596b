import * as tls from 'node:tls'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import type { WakeObstacle } from '../serving/serving-threads.ts'
import { encodeFrame, frameEveryMs } from './demand-frame.ts'
import { keyIdentity, keyedTls } from './demand-key.ts'
import { DemandTeller, type ToldPool } from './demand-teller.ts'

export interface DemandListenerOptions {
  readonly host: string
  readonly port: number
  readonly pool: ToldPool
  /** The key that both ends have; undefined while there is none, and then nobody is let in. */
  readonly key: () => Buffer | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** The leader, and for a moment the one before it. */
const mostListeners = 8
const handshakeMs = 5_000
/** A listener that does not read this much is cut off; it comes back and is told everything anew. */
const mostUnreadBytes = 16 * 1024 * 1024

/**
 * Where a gateway tells the leading controller about its demand: a first waiter at once, everything else shortly after.
 */
export class DemandListener implements Component, WakeObstacle {
  readonly name = 'demand listener'
  readonly #options: DemandListenerOptions
  readonly #server: tls.Server
  readonly #listeners = new Map<tls.TLSSocket, DemandTeller>()
  readonly #audience = new Set<() => void>()
  #unsubscribe = () => {}
  #cancel: CancelTimer = () => {}
  #port = 0

  constructor(options: DemandListenerOptions) {
    this.#options = options
    const pskCallback = (_socket: tls.TLSSocket, identity: string) =>
      identity === keyIdentity ? (options.key() ?? null) : null
    const settings = { ...keyedTls, pskCallback, handshakeTimeout: handshakeMs }
    this.#server = tls.createServer(settings, (socket) => this.#accept(socket))
    this.#server.maxConnections = 2 * mostListeners
    this.#server.on('tlsClientError', (error, socket) => {
      options.log.warn(
        { from: socket.remoteAddress, reason: error.message },
        'somebody without the key asked for demand',
      )
    })
    options.metrics.gauge(
      'sluice_gateway_demand_listeners',
      'Controllers that hear about demand. Without one, sleeping models are not woken.',
      [],
      (gauge) => gauge.set(this.#listeners.size),
    )
  }

  /** Why nobody wakes sleeping models; undefined while a controller hears that somebody waits. */
  get current(): string | undefined {
    return this.#listeners.size > 0 ? undefined : 'no controller listens to this gateway yet; the request waits for one'
  }

  /** Calls back when a controller comes or goes. */
  onChange(listener: () => void): () => void {
    this.#audience.add(listener)
    return () => this.#audience.delete(listener)
  }

  get port(): number {
    return this.#port
  }

  async start(): Promise<void> {
    const { host, port, pool, log } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject)
        this.#server.on('error', (error) => log.error({ err: error }, 'the listening socket failed'))
        resolve()
      })
    })
    const address = this.#server.address()
    this.#port = typeof address === 'object' && address !== null ? address.port : port
    this.#unsubscribe = pool.onFirstWaiter(() => this.#tellAll())
    this.#tick()
  }

  stop(): void {
    this.#cancel()
    this.#unsubscribe()
    this.#server.close()
    for (const socket of this.#listeners.keys()) socket.destroy()
  }

  #tick(): void {
    this.#cancel = this.#options.clock.after(frameEveryMs, () => this.#tick())
    this.#tellAll()
  }

  #accept(socket: tls.TLSSocket): void {
    const { pool, clock, log } = this.#options
    if (this.#listeners.size >= mostListeners) return void socket.destroy()
    const from = socket.remoteAddress
    socket.setNoDelay(true)
    socket.on('error', () => {})
    // Nothing is expected from there; reading notices when the other end is gone.
    socket.resume()
    socket.once('close', () => {
      if (!this.#listeners.delete(socket)) return
      log.info({ from, left: this.#listeners.size }, 'a controller no longer listens to demand')
      for (const listener of this.#audience) listener()
    })
    this.#listeners.set(socket, new DemandTeller(pool, () => clock.now()))
    log.info({ from }, 'a controller listens to demand')
    for (const listener of this.#audience) listener()
    this.#tell(socket)
  }

  #tellAll(): void {
    for (const socket of this.#listeners.keys()) this.#tell(socket)
  }

  #tell(socket: tls.TLSSocket): void {
    const teller = this.#listeners.get(socket)
    if (!teller) return
    if (socket.writableLength > mostUnreadBytes) return void socket.destroy()
    socket.write(encodeFrame(teller.next()))
  }
}
