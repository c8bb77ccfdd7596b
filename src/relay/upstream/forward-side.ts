import type { Socket } from 'node:net'
import type { Clock } from '../../foundation/clock.ts'
import type { RequestBody } from '../client/request-body.ts'
import type { ResponseWriter } from '../client/response-writer.ts'
import type { ClientFacts, Done, RequestHead } from '../exchange.ts'
import type { MessageFacts } from '../http/message-facts.ts'
import type { SentHeads } from '../http/sent-heads.ts'
import type { RelayLimits } from '../limits.ts'
import type { TunnelResult } from './tunnel.ts'
import type { UpstreamPool } from './upstream-pool.ts'

export interface AbortListener {
  onAborted(reason: Error): void
}

/** The client's side of an exchange, as far as forwarding needs it. */
export interface ForwardSide {
  readonly head: RequestHead
  readonly facts: MessageFacts
  readonly sentHeads: SentHeads
  readonly client: ClientFacts
  readonly body: RequestBody
  /** Whether the handler asked for the whole body: it has seen what it sends and may send it twice. */
  readonly bodyWasRead: boolean
  readonly writer: ResponseWriter
  readonly signal: AbortSignal
  readonly gone: boolean
  readonly clock: Clock
  readonly limits: RelayLimits
  readonly pool: UpstreamPool
  /** Told once when the exchange is aborted, unless it is forgotten before. */
  onAbort(listener: AbortListener): void
  forgetAbort(listener: AbortListener): void
  /** When the client has taken what is waiting for it; fails when it leaves before that. */
  whenDrained(done: Done): void
  /** Ends the client's connection without a proper end, so that it sees that something is missing. */
  cut(): void
  tunnelTo(upstream: Socket, leftover: Buffer): Promise<TunnelResult>
}
