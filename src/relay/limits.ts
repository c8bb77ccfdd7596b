/** What a client or an upstream may ask of the relay before it is refused, cut or let go. */
export interface RelayLimits {
  /** Longest request line; beyond it 414. Also the longest status line of an upstream. */
  readonly maxLineBytes: number
  /** A whole head, first line included; beyond it 431. */
  readonly maxHeadBytes: number
  readonly maxHeaderFields: number
  /** From the first byte of a request (or the connection's opening) to the end of its head; beyond it 408. */
  readonly headTimeoutMs: number
  /** How long a connection may stay open between two requests. */
  readonly keepAliveIdleMs: number
  readonly maxRequestsPerConnection: number
  readonly maxConnections: number
  /** Of the connections, how many one address (of IPv6, one network of 64 bits) may have; beyond it 429. */
  readonly maxConnectionsPerAddress: number
  /** How long a client may send nothing in the middle of a body somebody is reading; beyond it 408. */
  readonly bodyIdleMs: number
  /** What a client may lag behind the least rate while its body is being read; beyond it 408. */
  readonly bodyGraceMs: number
  readonly minBodyBytesPerSecond: number
  /** A body that is held until all of it is here has to be here by then; beyond it 408. */
  readonly bodyTotalMs: number
  /** How long a client may take nothing of a response that is waiting for it; beyond it the connection is cut. */
  readonly writeStallMs: number
  /** What is read and thrown away of a body the handler did not want, to keep the connection; beyond it is closed. */
  readonly drainBytes: number
  /** How long a refused client's bytes are read and thrown away, so that it gets to see the answer. */
  readonly lingerMs: number
  /** How long one direction of a tunnel (an upgraded connection) may stay silent after the other has ended. */
  readonly tunnelHalfOpenMs: number
  /** A tunnel in which both sides were silent for so long is cut. */
  readonly tunnelIdleMs: number
  /** Upstream connections kept open between requests, per upstream address. */
  readonly upstreamIdlePerAddress: number
  readonly upstreamIdleMs: number
  readonly upstreamConnectMs: number
  readonly upstreamFirstByteMs: number
  /** How long an upstream may be silent in the middle of its response; models think long, so this is generous. */
  readonly upstreamIdleBodyMs: number
}

export const defaultRelayLimits: RelayLimits = {
  maxLineBytes: 16_384,
  maxHeadBytes: 65_536,
  maxHeaderFields: 200,
  headTimeoutMs: 15_000,
  keepAliveIdleMs: 75_000,
  maxRequestsPerConnection: 100_000,
  maxConnections: 20_000,
  maxConnectionsPerAddress: 5_000,
  bodyIdleMs: 60_000,
  bodyGraceMs: 20_000,
  minBodyBytesPerSecond: 4_096,
  bodyTotalMs: 600_000,
  writeStallMs: 120_000,
  drainBytes: 65_536,
  lingerMs: 2_000,
  tunnelHalfOpenMs: 30_000,
  tunnelIdleMs: 3_600_000,
  upstreamIdlePerAddress: 512,
  upstreamIdleMs: 4_000,
  upstreamConnectMs: 5_000,
  upstreamFirstByteMs: 600_000,
  upstreamIdleBodyMs: 600_000,
}
