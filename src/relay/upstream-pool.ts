import type { Clock } from '../foundation/clock.ts'
import type { Upstream } from './exchange.ts'
import type { RelayLimits } from './limits.ts'
import { type OpenOptions, type UpstreamConnection, openUpstream } from './upstream-connection.ts'

export type PoolLimits = Pick<RelayLimits, 'upstreamIdlePerAddress' | 'upstreamIdleMs' | 'upstreamConnectMs'>

/** Connections that answered a request and may answer another, by address. The most recently used goes first. */
export class UpstreamPool {
  readonly #limits: PoolLimits
  readonly #clock: Clock
  readonly #idle = new Map<string, UpstreamConnection[]>()
  #closed = false

  constructor(limits: PoolLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** An open connection that rested no longer than `maxIdleMs`. */
  take(upstream: Upstream, maxIdleMs: number): UpstreamConnection | undefined {
    const key = keyOf(upstream)
    const idle = this.#idle.get(key)
    const connection = idle?.at(-1)
    if (!idle || !connection || this.#clock.now() - connection.idleSince > maxIdleMs) return undefined
    idle.pop()
    if (idle.length === 0) this.#idle.delete(key)
    connection.deadline.clear()
    return connection
  }

  open(upstream: Upstream, options: Pick<OpenOptions, 'signal'> & { timeoutMs: number | undefined }) {
    return openUpstream(upstream, {
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? this.#limits.upstreamConnectMs,
      clock: this.#clock,
    })
  }

  /** Takes a connection back whose last response ended cleanly. `idleMs`: how long the upstream says it keeps it. */
  give(upstream: Upstream, connection: UpstreamConnection, idleMs: number): void {
    const key = keyOf(upstream)
    const idle = this.#idle.get(key) ?? []
    const restMs = Math.min(idleMs, this.#limits.upstreamIdleMs)
    if (this.#closed || connection.closed || restMs <= 0 || idle.length >= this.#limits.upstreamIdlePerAddress) {
      return connection.destroy()
    }
    connection.idleSince = this.#clock.now()
    connection.served++
    idle.push(connection)
    this.#idle.set(key, idle)
    connection.rest(() => this.#forget(key, connection))
    connection.deadline.set(restMs, () => connection.destroy())
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

  #forget(key: string, connection: UpstreamConnection): void {
    const idle = this.#idle.get(key)
    const at = idle?.indexOf(connection) ?? -1
    if (!idle || at < 0) return
    idle.splice(at, 1)
    if (idle.length === 0) this.#idle.delete(key)
  }
}

function keyOf(upstream: Upstream): string {
  return `${upstream.host}|${upstream.port}`
}
