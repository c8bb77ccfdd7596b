import { networkInterfaces } from 'node:os'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { AnswerCache } from './forwarding/answer-cache.ts'
import type { ClusterNames } from './names/cluster-names.ts'
import { DnsMetrics } from './dns-metrics.ts'
import { Forwarder } from './forwarding/forwarder.ts'
import { addressBytes, addressKey } from './messages/ip-address.ts'
import { Resolver } from './resolver.ts'
import type { Upstream } from './forwarding/resolvers-file.ts'
import { TcpFace } from './listening/tcp-face.ts'
import { UdpFace } from './listening/udp-face.ts'

export interface DnsServerOptions {
  readonly names: ClusterNames
  /** The resolvers for all other names; see `ResolversFile`. */
  readonly upstreams: () => Promise<readonly Upstream[]>
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: DnsMetrics
}

/** Where the server listens, until it is closed. */
export interface DnsListener {
  readonly address: string
  readonly port: number
  close(): Promise<void>
}

const freePortAttempts = 10

/** The cluster's DNS server. It can listen at several addresses, each over UDP and TCP on the same port. */
export class DnsServer {
  readonly #resolver: Resolver
  readonly #forwarder: Forwarder
  readonly #faces: { readonly resolver: Resolver; readonly clock: Clock; readonly metrics: DnsMetrics }
  readonly #listeners = new Set<DnsListener>()
  #closed = false

  constructor({ names, upstreams, clock, log, metrics = new DnsMetrics() }: DnsServerOptions) {
    const isOurselves = (upstream: Upstream) => this.#listensAt(upstream)
    this.#forwarder = new Forwarder({ upstreams, isOurselves, cache: new AnswerCache(), clock, log, metrics })
    this.#resolver = new Resolver({ names, forwarder: this.#forwarder, log, metrics })
    this.#faces = { resolver: this.#resolver, clock, metrics }
  }

  get listeners(): readonly DnsListener[] {
    return [...this.#listeners]
  }

  /** Port 0 picks one that is free for both. Rejects when the address or the port is not available. */
  async listen(address: string, port: number): Promise<DnsListener> {
    for (let attempt = 1; ; attempt++) {
      const tcp = new TcpFace(this.#faces)
      const udp = new UdpFace(address, this.#resolver)
      try {
        const bound = await tcp.listen(address, port)
        await udp.listen(address, bound)
        if (this.#closed) throw new Error('the DNS server is closed')
        return this.#keep({ address, port: bound }, tcp, udp)
      } catch (error) {
        await Promise.allSettled([tcp.close(), udp.close()])
        if (port !== 0 || attempt === freePortAttempts || this.#closed) throw error
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#forwarder.close()
    await Promise.all(this.listeners.map((listener) => listener.close()))
  }

  #keep(place: Upstream, tcp: TcpFace, udp: UdpFace): DnsListener {
    const listener = {
      ...place,
      close: async () => {
        if (this.#listeners.delete(listener)) await Promise.all([tcp.close(), udp.close()])
      },
    }
    this.#listeners.add(listener)
    return listener
  }

  #listensAt(upstream: Upstream): boolean {
    const asked = keyOf(upstream.address)
    return this.listeners.some(({ address, port }) => {
      if (port !== upstream.port) return false
      return keyOf(address) === asked || (isEverywhere(address) && isOfThisMachine(asked))
    })
  }
}

function keyOf(address: string): string {
  const bytes = addressBytes(address)
  return bytes ? addressKey(bytes) : address
}

function isEverywhere(address: string): boolean {
  return addressBytes(address)?.every((byte) => byte === 0) ?? false
}

function isOfThisMachine(key: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => keyOf(address)))
  return own.includes(key) || (key.length === 4 && key.charCodeAt(0) === 127)
}
