import { type Server, type Socket, connect, createServer } from 'node:net'
import type { Clock } from '../../foundation/clock.ts'
import { tunnel } from '../../relay/upstream/tunnel.ts'
import { pickUpstream } from '../edge/pick-upstream.ts'
import { type RouteEndpoint, upstreamKey } from '../routes/service-endpoints.ts'
import type { ClusterIpRoute } from './plan-cluster-ip.ts'

const mostConnections = 4_096
const connectMs = 5_000
const halfOpenMs = 60 * 60_000
const mostClients = 4_096

interface Companion {
  readonly endpoint: string
  readonly until: number
}

/** Listens on one port of one Service, and connects every client to one of the endpoints. Bytes pass unchanged. */
export class ClusterIpListener {
  readonly #clock: Clock
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #inFlight = new Map<string, number>()
  /** The endpoint that a client was connected to last, by the client's address. For Services with session affinity. */
  readonly #companions = new Map<string, Companion>()
  #route: ClusterIpRoute
  #turn = 0

  constructor(route: ClusterIpRoute, clock: Clock) {
    this.#route = route
    this.#clock = clock
    this.#server = createServer({ allowHalfOpen: true }, (socket) => void this.#serve(socket))
    this.#server.maxConnections = mostConnections
  }

  /** Applies to new connections; existing ones continue. */
  set route(route: ClusterIpRoute) {
    this.#route = route
  }

  listen(): Promise<void> {
    const { address, port } = this.#route
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, address, () => {
        this.#server.off('error', reject)
        this.#server.on('error', () => {})
        resolve()
      })
    })
  }

  /** Accepts no new connections; existing ones continue. */
  close(ended: () => void): void {
    this.#server.close(() => ended())
  }

  destroy(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  async #serve(client: Socket): Promise<void> {
    this.#keep(client)
    client.setNoDelay(true)
    const tried = new Set<string>()
    for (;;) {
      const endpoint = this.#pick(client, tried)
      if (!endpoint || client.destroyed) {
        client.resetAndDestroy()
        return
      }
      const key = upstreamKey(endpoint)
      tried.add(key)
      this.#count(key, 1)
      try {
        const upstream = await this.#connect(endpoint)
        if (!upstream) continue
        this.#keep(upstream)
        const nothing = { fromClient: [], fromUpstream: Buffer.alloc(0) }
        await tunnel(client, upstream, { clock: this.#clock, halfOpenMs, ...nothing })
        return
      } finally {
        this.#count(key, -1)
      }
    }
  }

  /** With session affinity it is the client's last endpoint, unless that one has just failed. */
  #pick(client: Socket, tried: ReadonlySet<string>): RouteEndpoint | undefined {
    const { endpoints, affinityMs } = this.#route
    const now = this.#clock.now()
    const address = client.remoteAddress ?? ''
    const companion = affinityMs === undefined ? undefined : this.#companions.get(address)
    const usual = endpoints.find((one) => upstreamKey(one) === companion?.endpoint && !tried.has(upstreamKey(one)))
    const picked =
      usual && companion && companion.until > now ? usual : pickUpstream(endpoints, this.#inFlight, this.#turn++, tried)
    if (!picked || affinityMs === undefined) return picked
    this.#companions.delete(address)
    this.#companions.set(address, { endpoint: upstreamKey(picked), until: now + affinityMs })
    if (this.#companions.size > mostClients) {
      const [oldest] = this.#companions.keys()
      if (oldest !== undefined) this.#companions.delete(oldest)
    }
    return picked
  }

  /** `undefined` if nothing accepts the connection. */
  #connect({ host, port }: RouteEndpoint): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      const upstream = connect({ host, port, allowHalfOpen: true, noDelay: true })
      const cancel = this.#clock.after(connectMs, () => upstream.destroy(new Error('nobody answered in time')))
      const settle = (socket: Socket | undefined) => {
        cancel()
        resolve(socket)
      }
      upstream.once('connect', () => settle(upstream))
      upstream.once('error', () => settle(undefined))
    })
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }

  #count(key: string, by: number): void {
    const count = (this.#inFlight.get(key) ?? 0) + by
    if (count > 0) this.#inFlight.set(key, count)
    else this.#inFlight.delete(key)
  }
}
