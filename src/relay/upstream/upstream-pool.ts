import type { Clock } from '../../foundation/clock.ts'
import type { Upstream } from '../exchange.ts'
import type { HeadLimits } from '../http/head-reader.ts'
import type { RelayLimits } from '../limits.ts'
import type { ReadBatch } from '../socket/read-batch.ts'
import { type OpenOptions, type UpstreamConnection, openUpstream } from './upstream-connection.ts'

export type PoolLimits = HeadLimits &
  Pick<RelayLimits, 'upstreamIdlePerAddress' | 'upstreamIdleMs' | 'upstreamConnectMs'>

/** Idle connections for further requests, by address; the most recently used is taken first. */
export class UpstreamPool {
  readonly #limits: PoolLimits
  readonly #clock: Clock
  readonly #batch: ReadBatch
  readonly #idle = new Map<string, UpstreamConnection[]>()
  readonly #onIdleClosed = (connection: UpstreamConnection) => this.#forget(connection)
  #closed = false

  constructor(limits: PoolLimits, clock: Clock, batch: ReadBatch) {
    this.#limits = limits
    this.#clock = clock
    this.#batch = batch
  }

  /** An open connection that was idle for at most `maxIdleMs`. */
  take(upstream: Upstream, maxIdleMs: number): UpstreamConnection | undefined {
    const idle = this.#idle.get(addressOf(upstream))
    const connection = idle?.at(-1)
    if (!idle || !connection) return undefined
    if (maxIdleMs !== Number.POSITIVE_INFINITY && this.#clock.now() - connection.idleSince > maxIdleMs) return undefined
    idle.pop()
    if (idle.length === 0) this.#idle.delete(connection.address)
    connection.deadline.clear()
    return connection
  }

  open(
    upstream: Upstream,
    options: Pick<OpenOptions, 'signal'> & { timeoutMs: number | undefined },
  ): Promise<UpstreamConnection> {
    return openUpstream(upstream, {
      address: addressOf(upstream),
      onIdleClosed: this.#onIdleClosed,
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? this.#limits.upstreamConnectMs,
      clock: this.#clock,
      batch: this.#batch,
      limits: this.#limits,
    })
  }

  /** Takes back a connection whose last response ended cleanly. `idleMs`: how long the upstream keeps it open. */
  give(connection: UpstreamConnection, idleMs: number): void {
    const known = this.#idle.get(connection.address)
    const idle = known ?? []
    const restMs = Math.min(idleMs, this.#limits.upstreamIdleMs)
    if (this.#closed || connection.closed || restMs <= 0 || idle.length >= this.#limits.upstreamIdlePerAddress) {
      return connection.destroy()
    }
    connection.served++
    idle.push(connection)
    if (!known) this.#idle.set(connection.address, idle)
    connection.rest()
    connection.idleSince = connection.deadline.set(restMs, connection.letGo)
  }

  close(): void {
    this.#closed = true
    for (const idle of this.#idle.values()) for (const connection of idle.slice()) connection.destroy()
  }

  get idleCount(): number {
    let count = 0
    for (const idle of this.#idle.values()) count += idle.length
    return count
  }

  #forget(connection: UpstreamConnection): void {
    const idle = this.#idle.get(connection.address)
    const at = idle?.indexOf(connection) ?? -1
    if (!idle || at < 0) return
    idle.splice(at, 1)
    if (idle.length === 0) this.#idle.delete(connection.address)
  }
}

/**
 * Remembers the pool's key of each upstream while somebody holds the upstream. Those who forward much have one object
 * for each, and a text that is put together anew has to be hashed anew before it can be looked up.
 */
const addresses = new WeakMap<Upstream, string>()

function addressOf(upstream: Upstream): string {
  const known = addresses.get(upstream)
  if (known !== undefined) return known
  const address = `${upstream.host}|${upstream.port}`
  addresses.set(upstream, address)
  return address
}
